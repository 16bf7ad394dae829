#include "merge/values/thread_blame.hpp"

#include <map>

#include <catch2/catch.hpp>

namespace thread_blame_test {

namespace {

using namespace culprit;
using measurement::EpochKind;
using measurement::ThreadTotal;
using merge::ThreadMetric;

measurement::ThreadProfile thread_with(std::initializer_list<std::uint64_t> sampled, std::uint64_t exact) {
  measurement::ThreadProfile thread;
  thread.nodes.resize(sampled.size() + 1);
  cct::NodeId node = 0;
  for (const std::uint64_t ns : sampled)
    thread.epochs.push_back({.node = ++node, .kind = EpochKind::idleness_caused, .count = 1, .total_ns = ns});
  if (exact != 0)
    thread.epochs.push_back({.kind = EpochKind::thread_total,
                             .size_class = static_cast<std::uint32_t>(ThreadTotal::caused),
                             .count = 1,
                             .total_ns = exact});
  return thread;
}

std::map<cct::NodeId, std::uint64_t> caused(const measurement::ThreadProfile& thread) {
  merge::ThreadBlame blame;
  std::map<cct::NodeId, std::uint64_t> by_node;
  for (const auto& value : blame.of(thread)) {
    if (value.metric == ThreadMetric::idleness_caused) by_node[value.node] += value.ns;
  }
  return by_node;
}

TEST_CASE("samples divide what a thread counted, to the ns") {
  const auto values = caused(thread_with({3, 3, 3}, 1'000'000'000'000'000'001));
  std::uint64_t sum = 0;
  for (const auto& [node, ns] : values) sum += ns;
  CHECK(sum == 1'000'000'000'000'000'001);
  CHECK(values.at(1) / 10 == values.at(2) / 10);
}

TEST_CASE("what no sample met is of no place in particular") {
  CHECK(caused(thread_with({}, 77)) == std::map<cct::NodeId, std::uint64_t>{{0, 77}});
}

TEST_CASE("without a total the samples stand") {
  CHECK(caused(thread_with({5, 7}, 0)) == std::map<cct::NodeId, std::uint64_t>{{1, 5}, {2, 7}});
}

TEST_CASE("a thread that counted nothing has nothing") {
  merge::ThreadBlame blame;
  CHECK(blame.of(thread_with({}, 0)).empty());
}

}  // namespace

}  // namespace thread_blame_test
