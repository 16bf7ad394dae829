#include "scripted_run.hpp"
#include "waits/delay_costs.hpp"

#include <catch2/catch.hpp>

using namespace culprit::waits;
using namespace culprit::waits::testing;
using culprit::measurement::trace::DefinitionKind;

// Since when a waiter and its causer are compared: since they last met, whichever of them had to wait then.
namespace {

constexpr std::uint32_t kInit = 1, kPost = 2, kStart = 3, kComplete = 4, kWait = 5, kEarly = 20, kLate = 21;

/// Process 0 works long before it posts its window; process 1 waits for that in MPI_Win_start, or, where
/// that returns at once, in MPI_Win_complete. Then it works, which process 0 waits for.
ScriptedRun epochs(int count, bool start_blocks) {
  ScriptedRun run(2);
  const auto window = run.define(DefinitionKind::window, {0, 1});
  const auto targets = run.define(DefinitionKind::group, {0});
  const auto origins = run.define(DefinitionKind::group, {1});
  std::uint64_t now = 10;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    run.call(rank, 0, now, {on(OperationKind::initialize, 0)});
    run.path(kInit);
  }
  for (int i = 0; i < count; ++i) {
    run.sample(0, now + 999, now, kEarly);
    run.call(0, now + 1000, now + 1001, {on(OperationKind::post, window, -1, origins)});
    run.path(kPost);
    run.call(1, now, now + (start_blocks ? 1002 : 1), {on(OperationKind::start, window, -1, targets)});
    run.path(kStart);
    if (start_blocks) run.sample(1, now + 1301, now + 1002, kLate);
    run.call(1, start_blocks ? now + 1302 : now + 2, now + 1310, {on(OperationKind::complete, window)});
    run.path(kComplete);
    run.call(0, now + 1002, now + 1311, {on(OperationKind::wait, window)});
    run.path(kWait);
    now += 1320;
  }
  return run;
}

std::uint64_t cost(const Found& found, std::uint32_t context, bool long_term) {
  std::uint64_t sum = 0;
  for (const DelayCost& cost : found.delays.costs) {
    if (cost.path.context == context) sum += long_term ? cost.long_term_ns : cost.short_term_ns;
  }
  return sum;
}

}  // namespace

TEST_CASE("what lies before an exposure met its access is not blamed for the end of the epoch") {
  for (const int analysts : {1, 2}) {
    const Found found = analyse(epochs(3, true), analysts);
    CHECK(cost(found, kLate, false) == Approx(3 * 300).epsilon(0.05));
    CHECK(cost(found, kEarly, false) == Approx(3 * 1000).epsilon(0.05));
    CHECK(cost(found, kEarly, true) == 0);
  }
}

TEST_CASE("an access that waits at its end is compared since the epoch before") {
  for (const int analysts : {1, 2}) {
    const Found found = analyse(epochs(4, false), analysts);
    std::uint64_t waits = 0;
    for (const FoundWait& wait : found.waits) waits += wait.pattern == Pattern::late_post ? wait.ns : 0;
    CHECK(waits == 4 * 998);
    CHECK(cost(found, kEarly, false) == Approx(4 * 998).epsilon(0.05));
    CHECK(found.delays.unattributed_ns < 40);
  }
}

TEST_CASE("who left late where two met is to blame for the next wait, by as much as it left later") {
  ScriptedRun run(2);
  constexpr std::uint32_t kBarrier = 6;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    run.call(rank, 0, 10, {on(OperationKind::initialize, 0)});
    run.path(kInit);
    run.call(rank, 100, rank == 0 ? 650 : 150, {on(OperationKind::barrier)});
    run.path(kBarrier);
    run.call(rank, rank == 0 ? 850 : 350, 860, {on(OperationKind::barrier)});
    run.path(kLate);
  }
  for (const int analysts : {1, 2}) {
    const Found found = analyse(run, analysts);
    CHECK(cost(found, kBarrier, false) == 500);
    CHECK(found.delays.unattributed_ns == 0);
  }
}
