#include "scripted_run.hpp"
#include "waits/causes/delay_costs.hpp"

#include <catch2/catch.hpp>

namespace synchronization_interval_test {

using namespace culprit::waits;
using namespace culprit::waits::testing;
using culprit::measurement::trace::DefinitionKind;

// Since when a waiter and its delayer are compared: since they last synchronized, whichever of them had to
// wait then.
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
    run.call(1, start_blocks ? now + 1302 : now + 2, start_blocks ? now + 1310 : now + 1004,
             {on(OperationKind::complete, window)});
    run.path(kComplete);
    run.call(0, now + 1002, start_blocks ? now + 1311 : now + 1005, {on(OperationKind::wait, window)});
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
    for (const FoundWait& wait : found.waits) waits += wait.pattern == WaitPattern::late_post ? wait.ns : 0;
    CHECK(waits == 4 * 998);
    CHECK(cost(found, kEarly, false) == Approx(4 * 998).epsilon(0.05));
    CHECK(found.delays.unattributed_ns < 40);
  }
}

namespace {

std::uint64_t waiting(const Found& found) {
  std::uint64_t sum = 0;
  for (const FoundWait& wait : found.waits) sum += is_whole_wait(wait.pattern) ? wait.ns : 0;
  return sum;
}

/// Two processes that begin together, at 10.
ScriptedRun begun() {
  ScriptedRun run(2);
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    run.call(rank, 0, 10, {on(OperationKind::initialize, 0)});
    run.path(kInit);
  }
  return run;
}

constexpr std::uint32_t kSend = 7, kReceive = 8, kExchange = 9, kPut = 10, kFence = 11;

}  // namespace

TEST_CASE(
    "a message that nobody waited for is no synchronization point: its sender is not compared from its "
    "receipt on") {
  // Process 1 sends at once and works 100; process 0 works 900, takes that message, which has long been
  // there, works 100, and sends what process 1 then waits for. Since the receipt it took no longer than
  // process 1 since its send: what it did before bears the wait.
  ScriptedRun run = begun();
  run.call(1, 20, 30, {message(OperationKind::send, 0)});
  run.path(kSend);
  run.sample(0, 905, 10, kEarly);
  run.call(0, 910, 911, {message(OperationKind::receive, 1)});
  run.path(kReceive);
  run.call(0, 1011, 1012, {message(OperationKind::send, 1)});
  run.path(kSend);
  run.call(1, 130, 1020, {message(OperationKind::receive, 0)});
  run.path(kReceive);
  for (const int analysts : {1, 2}) {
    const Found found = analyse(run, analysts);
    CHECK(waiting(found) == 881);
    CHECK(found.delays.unattributed_ns == 0);
    CHECK(cost(found, kEarly, false) == 881);
  }
}

TEST_CASE("a broadcast joins its root with those who wait for it, not those with each other") {
  // Process 0 is the root and late, process 1 waits; process 2 comes later still, works as long as process 1,
  // and process 1 waits for it.
  ScriptedRun run(3);
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    run.call(rank, 0, 10, {on(OperationKind::initialize, 0)});
    run.path(kInit);
  }
  run.call(0, 110, 120, {on(OperationKind::one_to_all, 0, 0)});
  run.call(1, 20, 130, {on(OperationKind::one_to_all, 0, 0)});
  run.sample(2, 600, 10, kEarly);
  run.call(2, 610, 620, {on(OperationKind::one_to_all, 0, 0)});
  run.call(2, 720, 730, {message(OperationKind::send, 1)});
  run.path(kSend);
  run.call(1, 230, 740, {message(OperationKind::receive, 2)});
  run.path(kReceive);
  for (const int analysts : {1, 3}) {
    const Found found = analyse(run, analysts);
    CHECK(found.delays.unattributed_ns == 0);
    CHECK(cost(found, kEarly, false) > 400);
  }
}

TEST_CASE(
    "who was waited for in a call and then waits in it for the same one is compared from its enter on") {
  // Process 0 comes late to the exchange; process 1, which waited for that in a receive, then works and is
  // late with its answer. What process 0 did before is not to blame for that.
  ScriptedRun run = begun();
  run.sample(0, 500, 10, kEarly);
  run.call(0, 510, 930, {message(OperationKind::send, 1), message(OperationKind::receive, 1)});
  run.path(kExchange);
  run.call(1, 10, 520, {message(OperationKind::receive, 0)});
  run.path(kReceive);
  run.sample(1, 900, 520, kLate);
  run.call(1, 920, 930, {message(OperationKind::send, 0)});
  run.path(kSend);
  for (const int analysts : {1, 2}) {
    const Found found = analyse(run, analysts);
    CHECK(waiting(found) == 500 + 410);
    CHECK(found.delays.unattributed_ns == 0);
    CHECK(cost(found, kEarly, false) == Approx(500).epsilon(0.01));
    CHECK(cost(found, kEarly, true) == 0);
    CHECK(cost(found, kLate, false) == Approx(400).epsilon(0.01));
  }
}

TEST_CASE("what one waits in a call that another waited for is passed on") {
  // Process 0 enters an exchange that process 1 waits for and itself waits in it for process 2, which is
  // late; so it is late with its next message to process 1.
  ScriptedRun run(3);
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    run.call(rank, 0, 10, {on(OperationKind::initialize, 0)});
    run.path(kInit);
  }
  run.call(0, 20, 1010, {message(OperationKind::send, 1), message(OperationKind::receive, 2)});
  run.path(kExchange);
  run.call(1, 10, 30, {message(OperationKind::receive, 0)});
  run.path(kReceive);
  run.sample(2, 990, 10, kEarly);
  run.call(2, 1000, 1010, {message(OperationKind::send, 0)});
  run.path(kSend);
  run.call(0, 1010, 1020, {message(OperationKind::send, 1)});
  run.path(kSend);
  run.call(1, 30, 1020, {message(OperationKind::receive, 0)});
  run.path(kReceive);
  for (const int analysts : {1, 2, 3}) {
    const Found found = analyse(run, analysts);
    CHECK(found.delays.unattributed_ns == 0);
    CHECK(cost(found, kEarly, false) == Approx(980).epsilon(0.02));
    CHECK(cost(found, kEarly, true) == Approx(980).epsilon(0.02));
  }
}

TEST_CASE("an operation whose end was waited for is itself to blame") {
  ScriptedRun run = begun();
  const auto window = run.define(DefinitionKind::window, {0, 1});
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    run.call(rank, 20, 30, {on(OperationKind::fence, window)});
    run.path(kFence);
  }
  run.call(0, 40, 700, {on(OperationKind::put, window, 1)});
  run.path(kPut);
  run.call(0, 701, 710, {on(OperationKind::fence, window)});
  run.path(kFence);
  run.call(1, 40, 701, {on(OperationKind::fence, window)});  // left before process 0 came
  run.path(kFence);
  run.call(0, 720, 730, {on(OperationKind::barrier)});
  run.call(1, 720, 730, {on(OperationKind::barrier)});
  for (const int analysts : {1, 2}) {
    const Found found = analyse(run, analysts);
    CHECK(waiting(found) == 660);
    CHECK(found.delays.unattributed_ns == 0);
    CHECK(cost(found, kPut, false) == Approx(660).epsilon(0.02));
  }
}

TEST_CASE("who left late where two synchronized is to blame for the next wait, by as much as it left later") {
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

}  // namespace synchronization_interval_test
