#include "simulated_run.hpp"

#include <algorithm>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace simulated_run_test {

using namespace culprit::waits;
using namespace culprit::waits::testing;

namespace {

/// What the simulation says nothing about.
bool beside(const FoundWait& wait) {
  return container_of(wait.pattern) != WaitPattern::none || wait.pattern == WaitPattern::barrier_completion ||
         wait.pattern == WaitPattern::nxn_completion;
}

}  // namespace

TEST_CASE(
    "every wait of a random run is found, and no other, by any number of analysts in rounds of any length") {
  REQUIRE(rc::check("waits are exact", [] {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const std::int32_t ranks = *rc::gen::inRange(2, 9);
    const int steps = *rc::gen::inRange(0, 60);
    const SimulatedRun simulated = simulate(seed, ranks, steps);
    std::vector<Found> all;
    for (const int analysts : {1, 2, 3}) all.push_back(analyse(simulated.run, analysts));
    all.push_back(analyse(simulated.run, 2, 1));
    for (const Found& found : all) {
      RC_ASSERT(found.waits == all.front().waits);
      RC_ASSERT(found.unmatched == Unmatched{});
    }
    std::vector<FoundWait> waits = all.front().waits;
    std::erase_if(waits, beside);
    RC_ASSERT(waits == simulated.waits);
  }));
}

}  // namespace simulated_run_test
