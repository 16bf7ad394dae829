#include "blame/processor_sets.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <catch2/catch.hpp>

namespace processor_sets_test {

using namespace culprit;
using namespace culprit::blame;
using database::ScheduledThread;

namespace {

ScheduledThread on(std::initializer_list<std::uint16_t> processors) {
  ScheduledThread thread{.online = 8};
  for (const std::uint16_t each : processors) thread.processors.add(each);
  return thread;
}

std::vector<SharedProcessors> shared(const std::vector<ScheduledThread>& threads) {
  std::vector<const ScheduledThread*> all;
  all.reserve(threads.size());
  for (const ScheduledThread& each : threads) all.push_back(&each);
  return shared_processors(all);
}

using Processors = std::vector<std::uint16_t>;
using Threads = std::vector<std::size_t>;

}  // namespace

TEST_CASE("sets of processors that overlap are one, through any number of others") {
  const auto sets = shared({on({0, 1}), on({6}), on({3, 4}), on({1, 3}), on({5}), on({4})});
  REQUIRE(sets.size() == 3);
  CHECK(sets[0].processors == Processors{0, 1, 3, 4});
  CHECK(sets[0].threads == Threads{0, 2, 3, 5});
  CHECK(sets[1].processors == Processors{6});
  CHECK(sets[1].threads == Threads{1});
  CHECK(sets[2].processors == Processors{5});
  CHECK(sets[2].threads == Threads{4});
}

TEST_CASE("where the mask is not known, all processors of the host count; nothing where these are not") {
  ScheduledThread anywhere, unknown;
  anywhere.online = 3;
  const auto sets = shared({unknown, on({2}), anywhere, unknown});
  REQUIRE(sets.size() == 2);
  CHECK(sets[0].processors.empty());
  CHECK(sets[0].threads == Threads{0, 3});
  CHECK(sets[1].processors == Processors{0, 1, 2});
  CHECK(sets[1].threads == Threads{1, 2});
  CHECK(shared({}).empty());
}

TEST_CASE("random masks: threads are in one set if a chain of masks leads from one to the other") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<ScheduledThread> threads(1 + random() % 12);
    for (ScheduledThread& thread : threads) {
      std::set<std::uint16_t> mask;
      for (std::size_t i = 1 + random() % 3; i > 0; --i)
        mask.insert(static_cast<std::uint16_t>(random() % 20));
      for (const std::uint16_t each : mask) thread.processors.add(each);
    }
    // Labels spread until none changes.
    std::vector<std::size_t> label(threads.size());
    for (std::size_t t = 0; t < label.size(); ++t) label[t] = t;
    for (std::size_t pass = 0; pass < threads.size(); ++pass) {
      for (std::size_t a = 0; a < threads.size(); ++a) {
        for (std::size_t b = 0; b < threads.size(); ++b) {
          const Processors of_a = processors_of(threads[a]), of_b = processors_of(threads[b]);
          if (std::ranges::find_first_of(of_a, of_b) != of_a.end())
            label[a] = label[b] = std::min(label[a], label[b]);
        }
      }
    }
    std::map<std::size_t, Threads> expected;
    for (std::size_t t = 0; t < label.size(); ++t) expected[label[t]].push_back(t);
    const auto sets = shared(threads);
    REQUIRE(sets.size() == expected.size());
    for (const SharedProcessors& set : sets) CHECK(set.threads == expected.at(set.threads.front()));
  }
}

}  // namespace processor_sets_test
