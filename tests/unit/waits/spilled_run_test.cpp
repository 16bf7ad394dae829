#include "simulated_run.hpp"
#include "storage/spill.hpp"
#include "waits/timeline/by_call.hpp"

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <rapidcheck.h>
#include <sys/resource.h>

namespace spilled_run_test {

using namespace culprit::waits;
namespace storage = culprit::storage;
using namespace culprit::waits::testing;

namespace {

/// One block of a few items in memory, everything else in the file.
storage::SpillOptions tiny() {
  return {.directory = {}, .memory = 1, .block = 1, .calls_sorted_together = 3};
}

}  // namespace

TEST_CASE("items in no order are taken in the order of calls") {
  storage::Spill spill(tiny());
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
    storage::SpillOptions packed = tiny();
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

TEST_CASE("where there is no room to spill to, the error names the place") {
  storage::SpillOptions options = tiny();
  options.directory = "/nowhere/at/all";
  const SimulatedRun simulated = simulate(1, 4, 20);
  CHECK_THROWS_WITH(analyse(simulated.run, 2, 100, options),
                    Catch::Contains("/nowhere/at/all") && Catch::Contains("No such file or directory") &&
                        Catch::Contains("TMPDIR"));
  CHECK_THROWS_AS(analyse(simulated.run, 2, 100, options), storage::SpillError);
}

TEST_CASE("a disk that fills while blocks are spilled is reported, and nothing hangs") {
  // The limit on a file's size stands in for it: writing fails half-way.
  struct rlimit before {};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  struct rlimit small = before;
  small.rlim_cur = 4096;
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const SimulatedRun simulated = simulate(1, 4, 60);
  bool reported = false;
  try {
    analyse(simulated.run, 2, 100, tiny());
  } catch (const storage::SpillError& error) {
    reported = std::string(error.what()).find("File too large") != std::string::npos;
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, ignored);
  CHECK(reported);
}

}  // namespace spilled_run_test
