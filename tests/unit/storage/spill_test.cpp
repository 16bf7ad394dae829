#include "storage/spill.hpp"

#include "simulated_run.hpp"
#include "storage/sequence.hpp"
#include "waits/timeline/by_call.hpp"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <rapidcheck.h>
#include <sys/resource.h>

using namespace culprit::waits;
using namespace culprit::waits::testing;

namespace {

/// One block of a few items in memory, everything else in the file.
SpillOptions tiny() {
  return {.directory = {}, .memory = 1, .block = 1, .calls_sorted_together = 3};
}

}  // namespace

TEST_CASE("a sequence gives back what was put in, however little of it fits into memory") {
  REQUIRE(rc::check("like a vector", [] {
    SpillOptions options = tiny();
    options.block = *rc::gen::inRange<std::size_t>(1, 300);
    options.memory = *rc::gen::inRange<std::size_t>(1, 3000);
    Spill spill(options);
    Sequence<std::uint64_t> first(spill);
    Sequence<Receipt> second(spill);
    std::vector<std::uint64_t> numbers;
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
    const int steps = *rc::gen::inRange(0, 2000);
    for (int i = 0; i < steps; ++i) {
      const std::uint64_t action = random() % 8;
      if (action == 0 && !numbers.empty()) {
        numbers.pop_back();
        first.pop_back();
      } else if (action == 1 && !numbers.empty()) {
        const std::size_t at = random() % numbers.size();
        numbers[at] = random();
        first.set(at, numbers[at]);
      } else {
        numbers.push_back(random());
        first.push_back(numbers.back());
      }
      second.push_back({.event = static_cast<std::uint32_t>(i), .sent_ns = 7});
      if (random() % 500 == 0) second.clear();
    }
    RC_ASSERT(first.size() == numbers.size());
    for (std::size_t i = numbers.size(); i-- > 0;) RC_ASSERT(first[i] == numbers[i]);
    RC_ASSERT(std::equal(first.begin(), first.end(), numbers.begin(), numbers.end()));
    for (std::size_t i = 1; i < second.size(); ++i) RC_ASSERT(second[i].event == second[i - 1].event + 1);
  }));
}

TEST_CASE("blocks that do not fit into memory stay there packed, and only what is left goes to the file") {
  REQUIRE(rc::check("like a vector", [] {
    SpillOptions options;
    options.block = 1024;
    options.memory = *rc::gen::inRange<std::size_t>(1, 40) * options.block;
    Spill spill(options);
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
    // Some are packed to a sixteenth, some not at all.
    std::vector<Sequence<Receipt>> sequences;
    std::vector<std::vector<Receipt>> vectors(6);
    for (std::size_t i = 0; i < vectors.size(); ++i) sequences.emplace_back(spill);
    for (int i = 0; i < 6000; ++i) {
      const std::size_t which = random() % vectors.size();
      std::vector<Receipt>& expected = vectors[which];
      Receipt receipt;
      receipt.event = static_cast<std::uint32_t>(i);
      receipt.sent_ns = which == 0 ? 7 : random() >> (12 * which - 1);
      if (random() % 4 == 0 && !expected.empty()) {
        const std::size_t at = random() % expected.size();
        expected[at] = receipt;
        sequences[which].set(at, receipt);
      } else {
        expected.push_back(receipt);
        sequences[which].push_back(receipt);
      }
      if (random() % 2000 == 0) {
        expected.clear();
        sequences[which].clear();
      }
    }
    for (std::size_t which = 0; which < vectors.size(); ++which) {
      RC_ASSERT(std::equal(
          sequences[which].begin(), sequences[which].end(), vectors[which].begin(), vectors[which].end(),
          [](const Receipt& a, const Receipt& b) { return a.event == b.event && a.sent_ns == b.sent_ns; }));
    }
  }));
}

TEST_CASE("three times as much as fits into memory needs no file, if it can be packed") {
  SpillOptions options;
  options.block = 1024;
  options.memory = 64 * options.block;
  Spill spill(options);
  Sequence<std::uint64_t> numbers(spill);
  constexpr std::uint64_t kCount = 3 * 64 * 1024 / sizeof(std::uint64_t);
  for (std::uint64_t i = 0; i < kCount; ++i) numbers.push_back(1'000'000'000'000 + 100 * i);
  CHECK(spill.written() == 0);
  std::uint64_t expected = 1'000'000'000'000;
  numbers.for_each([&expected](std::uint64_t number) {
    CHECK(number == expected);
    expected += 100;
  });
  std::mt19937_64 random(1);
  for (std::uint64_t i = 0; i < kCount; ++i) numbers.push_back(random());
  CHECK(spill.written() > 0);
  CHECK(numbers[17] == 1'000'000'001'700);
}

TEST_CASE("items in no order are taken in the order of calls") {
  Spill spill(tiny());
  ByCall<Receipt> all(spill);
  for (const std::uint32_t event : {9U, 1U, 4U, 2U, 1U, 0U, 8U, 3U, 1U}) {
    all.add({.event = event, .sent_ns = 100 - all.parts()});
  }
  std::vector<std::uint32_t> taken;
  std::vector<Receipt> some;
  for (std::size_t part = 0; part < all.parts(); ++part) {
    all.take(part, some, [](const Receipt& a, const Receipt& b) { return a.sent_ns < b.sent_ns; });
    for (const Receipt& one : some) taken.push_back(one.event);
  }
  CHECK(taken == std::vector<std::uint32_t>{0, 1, 1, 1, 2, 3, 4, 8, 9});
  all.take(0, some, [](const Receipt&, const Receipt&) { return false; });
  CHECK(some.empty());
}

TEST_CASE("a run analysed in blocks of one call says the same as in memory") {
  REQUIRE(rc::check("the same", [] {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const std::int32_t ranks = *rc::gen::inRange(2, 9);
    const int steps = *rc::gen::inRange(0, 60);
    const SimulatedRun simulated = simulate(seed, ranks, steps);
    const Found memory = analyse(simulated.run, 2);
    SpillOptions packed = tiny();
    packed.block = 2048;
    packed.memory = 12 * packed.block;
    for (const int analysts : {1, 2, 3}) {
      const Found spilled = analyse(simulated.run, analysts, 7, analysts == 2 ? packed : tiny());
      RC_ASSERT(spilled.waits == memory.waits);
      RC_ASSERT(spilled.unmatched == memory.unmatched);
      RC_ASSERT(spilled.delays.costs == memory.delays.costs);
      RC_ASSERT(spilled.delays.unattributed_ns == memory.delays.unattributed_ns);
      RC_ASSERT(spilled.path.times == memory.path.times);
      RC_ASSERT(spilled.hotspots == memory.hotspots);
    }
  }));
}

TEST_CASE("where there is no room for what does not fit into memory, that is told with the place") {
  SpillOptions options = tiny();
  options.directory = "/nowhere/at/all";
  const SimulatedRun simulated = simulate(1, 4, 20);
  CHECK_THROWS_WITH(analyse(simulated.run, 2, 100, options),
                    Catch::Contains("/nowhere/at/all") && Catch::Contains("No such file or directory") &&
                        Catch::Contains("TMPDIR"));
  CHECK_THROWS_AS(analyse(simulated.run, 2, 100, options), SpillError);
}

TEST_CASE("a disk that is full while blocks are put away is told, and nothing hangs") {
  // The limit on a file's size stands in for it: writing fails half-way.
  struct rlimit before {};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  struct rlimit small = before;
  small.rlim_cur = 4096;
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const SimulatedRun simulated = simulate(1, 4, 60);
  bool told = false;
  try {
    analyse(simulated.run, 2, 100, tiny());
  } catch (const SpillError& error) {
    told = std::string(error.what()).find("File too large") != std::string::npos;
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, ignored);
  CHECK(told);
}
