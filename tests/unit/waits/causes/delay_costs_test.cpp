#include "waits/causes/delay_costs.hpp"

#include "scripted_run.hpp"
#include "simulated_run.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace delay_costs_test {

using namespace culprit::waits;
using namespace culprit::waits::testing;
using culprit::measurement::trace::DefinitionKind;

namespace {

std::uint64_t waiting(const Found& found) {
  std::uint64_t sum = 0;
  for (const FoundWait& wait : found.waits) {
    if (container_of(wait.pattern) == WaitPattern::none && wait.pattern != WaitPattern::barrier_completion &&
        wait.pattern != WaitPattern::nxn_completion) {
      sum += wait.ns;
    }
  }
  return sum;
}

std::uint64_t all_costs(const DelayCosts& costs) {
  std::uint64_t sum = costs.unattributed_ns;
  for (const DelayCost& cost : costs.costs) sum += cost.short_term_ns + cost.long_term_ns;
  return sum;
}

// Call paths.
constexpr std::uint32_t kInit = 1, kSend = 2, kReceive = 3, kPost = 4, kStart = 5, kComplete = 6, kFoo = 20,
                        kBar = 21;

/// Process 0 works 1000 ns in foo before it sends; process 1 waits for that, works 200 ns more than process 2
/// in bar, and posts late; process 2 waits at MPI_Win_start.
ScriptedRun chain() {
  ScriptedRun run(3);
  const auto window = run.define(DefinitionKind::window, {0, 1, 2});
  const auto one = run.define(DefinitionKind::group, {1});
  const auto two = run.define(DefinitionKind::group, {2});
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    run.call(rank, 0, 10, {on(OperationKind::initialize, 0)});
    run.path(kInit);
  }
  run.sample(0, 500, 10, kFoo);
  run.sample(0, 1000, 500, kFoo);
  run.call(0, 1010, 1020, {on(OperationKind::send, 0, 1)});
  run.path(kSend);
  run.call(1, 10, 1020, {on(OperationKind::receive, 0, 0)});
  run.path(kReceive);
  run.sample(1, 1150, 1020, kBar);
  run.call(1, 1220, 1221, {on(OperationKind::post, window, -1, two)});
  run.path(kPost);
  run.call(2, 10, 1230, {on(OperationKind::start, window, -1, one)});
  run.path(kStart);
  run.call(2, 1230, 1240, {on(OperationKind::complete, window)});
  run.path(kComplete);
  run.call(1, 1231, 1250, {on(OperationKind::wait, window)});
  run.path(kPost);
  return run;
}

const DelayCost& cost_of(const Found& found, Location location, std::uint32_t context) {
  for (const DelayCost& cost : found.delays.costs) {
    if (cost.location == location && cost.path.context == context) return cost;
  }
  FAIL("no cost of call path " << context << " on time line " << location);
  throw 0;
}

}  // namespace

TEST_CASE("a delay bears the waits that it causes, directly and through those who had to wait") {
  for (const int analysts : {1, 2, 3}) {
    const Found found = analyse(chain(), analysts);
    // Waits: 1000 ns of process 1 for process 0; 1210 ns of process 2 for process 1, of which process 1
    // itself waited 1000, worked 200 longer in bar, and spent 10 longer in its call.
    const DelayCost& foo = cost_of(found, 0, kFoo);
    const DelayCost& bar = cost_of(found, 1, kBar);
    CHECK(foo.short_term_ns == 1000);
    CHECK(foo.long_term_ns == Approx(1000).epsilon(0.01));
    CHECK(bar.short_term_ns == Approx(200).epsilon(0.01));
    CHECK(bar.long_term_ns == 0);
    CHECK(all_costs(found.delays) == waiting(found));
    CHECK(found.delays.direct_ns + found.delays.indirect_ns == waiting(found));
    CHECK(found.delays.indirect_ns == Approx(1000).epsilon(0.01));
  }
}

TEST_CASE("what the holder of a lock did under it bears the wait for it, not what it did before") {
  ScriptedRun run(2);
  const auto window = run.define(DefinitionKind::window, {0, 1});
  Operation lock = on(OperationKind::lock, window, 0);
  lock.exclusive = true;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    run.call(rank, 0, 10, {on(OperationKind::initialize, 0)});
    run.path(kInit);
  }
  run.sample(1, 900, 10, kFoo);
  run.call(1, 1000, 1010, {lock});
  run.path(kPost);
  run.sample(1, 1300, 1010, kBar);
  run.call(1, 1310, 1320, {on(OperationKind::unlock, window, 0)});
  run.path(kComplete);
  // Its own work does not stand for the holder's.
  run.sample(0, 1000, 10, kBar);
  run.call(0, 1110, 1315, {lock});
  run.path(kStart);
  run.call(0, 1400, 1410, {on(OperationKind::unlock, window, 0)});
  run.path(kComplete);
  for (const int analysts : {1, 2}) {
    const Found found = analyse(run, analysts);
    REQUIRE(waiting(found) == 200);
    CHECK(all_costs(found.delays) == 200);
    CHECK(found.delays.unattributed_ns == 0);
    for (const DelayCost& cost : found.delays.costs) CHECK(cost.path.context != kFoo);
    // Of 310 ns under the lock, 10 in the call that got it.
    CHECK(cost_of(found, 1, kBar).short_term_ns == Approx(200. * 300 / 310).epsilon(0.01));
  }
}

TEST_CASE("what was done before a thread began bears no wait of it") {
  // Process 0 has long left a call that took it 600, and works in foo, when the second thread of process 1
  // begins, which waits for its message.
  ScriptedRun run(2, 2);
  run.call(0, 0, 600, {on(OperationKind::initialize, 0)});
  run.path(kInit);
  run.call(1, 0, 10, {on(OperationKind::initialize, 0)});
  run.path(kInit);
  run.call(0, 700, 701, {});
  run.path(kPost);
  run.sample(0, 990, 701, kFoo);
  run.call(0, 1000, 1010, {message(OperationKind::send, 1)});
  run.path(kSend);
  run.call(1, 710, 1005, {message(OperationKind::receive, 0)}, 1);
  run.path(kReceive);
  for (const int analysts : {1, 2}) {
    const Found found = analyse(run, analysts);
    REQUIRE(waiting(found) == 290);
    CHECK(all_costs(found.delays) == 290);
    CHECK(cost_of(found, 0, kFoo).short_term_ns == Approx(290).epsilon(0.05));
    for (const DelayCost& cost : found.delays.costs) CHECK(cost.path.context != kInit);
  }
}

TEST_CASE("all waiting has a cause, but in the first call, before which nobody had synchronized") {
  REQUIRE(rc::check("nothing else is unattributed", [] {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const std::int32_t ranks = *rc::gen::inRange(2, 9);
    const Found found = analyse(simulate(seed, ranks, *rc::gen::inRange(0, 60)).run);
    std::uint64_t at_init = 0;
    for (const FoundWait& wait : found.waits)
      at_init += wait.pattern == WaitPattern::wait_at_init ? wait.ns : 0;
    RC_ASSERT(found.delays.unattributed_ns == at_init);
  }));
}

TEST_CASE("costs are all of the waiting, to the nanosecond, and the same for any number of analysts") {
  REQUIRE(rc::check("costs are conserved", [] {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const std::int32_t ranks = *rc::gen::inRange(2, 9);
    const int steps = *rc::gen::inRange(0, 60);
    const SimulatedRun simulated = simulate(seed, ranks, steps);
    const Found first = analyse(simulated.run, 1);
    RC_ASSERT(all_costs(first.delays) == waiting(first));
    RC_ASSERT(first.delays.contradictory_ns == 0u);
    RC_ASSERT(first.delays.direct_ns + first.delays.indirect_ns == waiting(first));
    for (const auto& other : {analyse(simulated.run, 2), analyse(simulated.run, 3, 1),
                              analyse(simulated.run, 5), analyse(simulated.run, 2, 1, {}, 1)}) {
      RC_ASSERT(other.delays.unattributed_ns == first.delays.unattributed_ns);
      RC_ASSERT(other.delays.costs == first.delays.costs);
    }
  }));
}

TEST_CASE("each sum of waits knows what of it its delayers' own waits passed on") {
  const Found found = analyse(chain(), 2);
  // Process 1 works when process 0 does not wait; process 1 itself waited 1000 of the 1210 that process 2
  // did.
  for (const WaitSum& sum : found.sums) {
    if (sum.pattern == WaitPattern::late_sender) CHECK(sum.indirect_ns == 0);
    if (sum.pattern == WaitPattern::late_post) CHECK(sum.indirect_ns == Approx(1000).epsilon(0.01));
  }
}

TEST_CASE("indirect waits of all sums are the run's, to the nanosecond, for any number of analysts") {
  REQUIRE(rc::check("direct and indirect waits are conserved", [] {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const std::int32_t ranks = *rc::gen::inRange(2, 9);
    const SimulatedRun simulated = simulate(seed, ranks, *rc::gen::inRange(0, 60));
    const Found first = analyse(simulated.run, 1);
    std::uint64_t direct = 0, indirect = 0;
    for (const WaitSum& sum : first.sums) {
      RC_ASSERT(sum.indirect_ns <= sum.ns);
      if (!is_whole_wait(sum.pattern)) RC_ASSERT(sum.indirect_ns == 0u);
      indirect += sum.indirect_ns;
      if (is_whole_wait(sum.pattern)) direct += sum.ns - sum.indirect_ns;
    }
    RC_ASSERT(indirect == first.delays.indirect_ns);
    RC_ASSERT(direct == first.delays.direct_ns);
    RC_ASSERT(analyse(simulated.run, 3, 1).sums == first.sums);
  }));
}

TEST_CASE(
    "waits that wait for each other, as only contradictory clocks say, cost the same for any number of "
    "analysts") {
  ScriptedRun run(2);
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    run.call(rank, 0, 5, {on(OperationKind::initialize, 0)});
    run.path(kInit);
  }
  run.call(0, 10, 1000, {message(OperationKind::receive, 1, 1)});
  run.path(kReceive);
  run.call(0, 300, 1010, {message(OperationKind::send, 1, 2)});
  run.path(kSend);
  run.call(1, 10, 400, {message(OperationKind::receive, 0, 2)});
  run.path(kReceive);
  run.call(1, 500, 510, {message(OperationKind::send, 0, 1)});
  run.path(kSend);
  const Found first = analyse(run, 1);
  CHECK(first.delays.contradictory_ns > 0);
  CHECK(all_costs(first.delays) == waiting(first));
  for (const int analysts : {2, 3}) {
    const Found other = analyse(run, analysts);
    CHECK(other.delays.contradictory_ns == first.delays.contradictory_ns);
    CHECK(other.delays.costs == first.delays.costs);
  }
}

}  // namespace delay_costs_test
