#include "database/summary_table.hpp"
#include "database/value_block.hpp"
#include "equality.hpp"

#include <map>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

using namespace culprit;
using namespace culprit::database;

namespace {

std::vector<Value> decode(const Bytes& block, std::size_t count, ValueBounds bounds) {
  return decode_values(block, static_cast<std::uint32_t>(count), bounds);
}

Bytes encode(const std::vector<Value>& values) {
  Encoder into;
  encode_values(values, into);
  return into.take();
}

constexpr std::uint64_t kHuge = 0xffffffff;

}  // namespace

TEST_CASE("any list of values survives its block") {
  CHECK(rc::check("encode, decode", [] {
    const auto picked = *rc::gen::container<std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t>>(
        rc::gen::pair(rc::gen::inRange<std::uint32_t>(0, 50), rc::gen::inRange<std::uint32_t>(0, 6)),
        rc::gen::nonZero<std::uint64_t>());
    std::vector<Value> values;
    for (const auto& [key, value] : picked) values.push_back({key.first, key.second, value});
    RC_ASSERT(equal(decode(encode(values), values.size(), {50, 6}), values));
  }));
}

TEST_CASE("values at the limits survive") {
  const std::vector<Value> values = {{0, 0, ~0ULL}, {0xfffffffe, 0xfffffffe, 1}};
  CHECK(equal(decode(encode(values), 2, {kHuge, kHuge}), values));
  CHECK(decode({}, 0, {0, 0}).empty());
}

TEST_CASE("an unchanged set of metrics costs one byte") {
  const std::vector<Value> one = {{0, 0, 1}, {0, 1, 1}, {0, 2, 1}};
  std::vector<Value> two = one;
  for (Value value : one) two.push_back({1, value.metric, value.value});
  CHECK(encode(two).size() - encode(one).size() == 5);
}

TEST_CASE("blocks that are no list are refused") {
  const auto block = [](std::vector<unsigned> bytes) {
    Bytes result;
    for (const unsigned byte : bytes) result.push_back(static_cast<std::byte>(byte));
    return result;
  };
  const ValueBounds bounds{4, 2};
  CHECK(decode(block({3, 1, 1, 9}), 1, bounds).front().value == 9);
  CHECK_THROWS_AS(decode(block({4, 1, 1, 9}), 1, bounds), Malformed);           // index out of range
  CHECK_THROWS_AS(decode(block({3, 1, 2, 9}), 1, bounds), Malformed);           // metric out of range
  CHECK_THROWS_AS(decode(block({3, 1, 1, 0}), 1, bounds), Malformed);           // zero
  CHECK_THROWS_AS(decode(block({3, 0, 9}), 1, bounds), Malformed);              // repeats nothing
  CHECK_THROWS_AS(decode(block({3, 1, 1, 9}), 2, bounds), Malformed);           // fewer
  CHECK_THROWS_AS(decode(block({3, 1, 1, 9}), 0, bounds), Malformed);           // more
  CHECK_THROWS_AS(decode(block({3, 1, 1}), 1, bounds), Malformed);              // cut
  CHECK_THROWS_AS(decode(block({3, 1, 1, 9, 0, 0, 9}), 2, bounds), Malformed);  // beyond the last index
  const Bytes endless = block({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f});
  CHECK_THROWS_AS(decode(endless, 1, bounds), Malformed);
  CHECK_THROWS_AS(decode(block({1}), 0xffffffff, bounds), Malformed);
}

TEST_CASE("any summaries survive their tables") {
  CHECK(rc::check("encode, decode", [] {
    const auto accumulator = [] {
      metrics::Accumulator a;
      for (const std::uint64_t value :
           *rc::gen::container<std::vector<std::uint64_t>>(rc::gen::arbitrary<std::uint64_t>())) {
        a.accumulate(value);
      }
      return a;
    };
    std::vector<Summary> summaries;
    const std::uint32_t tables = *rc::gen::inRange<std::uint32_t>(0, 4);
    for (std::uint32_t table = 0; table < tables; ++table) {
      Summary& summary = summaries.emplace_back(Summary{table / 2, table % 2, {}});
      for (std::uint32_t scope = 0; scope < 12; ++scope) {
        SummaryEntry entry{scope, accumulator(), accumulator()};
        if (entry.inclusive.observers == 0) continue;
        if (scope % 3 == 0) entry.exclusive = entry.inclusive;
        if (entry.exclusive.observers == 0) entry.exclusive = {};
        summary.entries.push_back(entry);
      }
    }
    const EncodedSummaries encoded = encode_summaries(summaries);
    const std::vector<Summary> decoded = decode_summaries(encoded.index, encoded.data, 12, 2, 2);
    Experiment a, b;
    a.context_summaries = summaries;
    b.context_summaries = decoded;
    RC_ASSERT(equal(a, b));
  }));
}

TEST_CASE("a summary without observers is left out, and order is demanded") {
  metrics::Accumulator a;
  a.accumulate(1);
  const EncodedSummaries encoded = encode_summaries({{0, 0, {{1, {}, {}}, {2, a, {}}}}});
  const std::vector<Summary> decoded = decode_summaries(encoded.index, encoded.data, 3, 1, 1);
  REQUIRE(decoded.size() == 1);
  REQUIRE(decoded[0].entries.size() == 1);
  CHECK(decoded[0].entries[0].scope == 2);
  CHECK_THROWS_AS(encode_summaries({{0, 0, {{2, a, {}}, {1, a, {}}}}}), std::invalid_argument);
  CHECK_THROWS_AS(decode_summaries(encoded.index, encoded.data, 2, 1, 1), Malformed);
  CHECK_THROWS_AS(decode_summaries(encoded.index, encoded.data, 3, 1, 0), Malformed);
}
