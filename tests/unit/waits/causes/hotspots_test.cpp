#include "waits/causes/hotspots.hpp"

#include "scripted_run.hpp"
#include "simulated_run.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace hotspots_test {

using namespace culprit::waits;
using namespace culprit::waits::testing;

namespace {

constexpr std::uint32_t kBarrier = 1, kFoo = 20, kBar = 21, kRare = 22;

/// Between two barriers rank 2 works in foo as long as the others and 300 ns longer in bar; `rare` takes a
/// few ns.
ScriptedRun imbalanced() {
  ScriptedRun run(3);
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    run.call(rank, 10, 20, {on(OperationKind::barrier)});
    run.path(kBarrier);
    run.sample(rank, 500, 20, kFoo);
    const std::uint64_t until = rank == 2 ? 900 : 600 - static_cast<std::uint64_t>(rank) * 50;
    run.sample(rank, until - 4, 500, kBar);
    run.sample(rank, until, until - 4, kRare);
    run.call(rank, until, 910, {on(OperationKind::barrier)});
    run.path(kBarrier);
  }
  return run;
}

}  // namespace

TEST_CASE("the delayer's hot procedures bear the wait of who came first to a collective") {
  for (const int analysts : {1, 2}) {
    const std::vector<Hotspot> found = analyse(imbalanced(), analysts).hotspots;
    // Rank 1 came first, at 550, and waited until 900 for rank 2, which worked longer in bar alone.
    CHECK(found == std::vector<Hotspot>{{2, kBar, 1, kBarrier, 350}});
  }
}

TEST_CASE("the threshold decides which procedures are hot") {
  // Of all time foo takes 72 %, and bar, which makes others wait, 27 %.
  const auto found = [](double threshold, int analysts) {
    return analyse(imbalanced(), analysts, 1 << 18, {}, 0, threshold).hotspots;
  };
  const std::vector<Hotspot> bar = {{2, kBar, 1, kBarrier, 350}};
  for (const int analysts : {1, 2}) {
    for (const double threshold : {0., 0.01, 0.25}) CHECK(found(threshold, analysts) == bar);
    for (const double threshold : {0.3, 0.5, 1.}) CHECK(found(threshold, analysts).empty());
  }
}

TEST_CASE("hotspots never cost more than was waited, and are the same for any number of analysts") {
  REQUIRE(rc::check("cost", [] {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const std::int32_t ranks = *rc::gen::inRange(2, 9);
    const int steps = *rc::gen::inRange(0, 60);
    const SimulatedRun simulated = simulate(seed, ranks, steps);
    const Found found = analyse(simulated.run, 1);
    std::uint64_t waited = 0, cost = 0;
    for (const FoundWait& wait : found.waits) waited += is_whole_wait(wait.pattern) ? wait.ns : 0;
    for (const Hotspot& hotspot : found.hotspots) cost += hotspot.ns;
    RC_ASSERT(cost <= waited);
    RC_ASSERT(analyse(simulated.run, 3).hotspots == found.hotspots);
  }));
}

}  // namespace hotspots_test
