#include "waits/replay/replay.hpp"

#include "exchange/threads.hpp"
#include "scripted_run.hpp"
#include "simulated_run.hpp"
#include "waits/replay/changed_work.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace replay_test {

using namespace culprit;
using namespace culprit::waits;
using namespace culprit::waits::testing;

namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint32_t kWork = 7, kOther = 8;  // call paths

/// A run that was read, as it was and with other work.
struct Outcome {
  Replayed before, after;
  std::vector<std::vector<ReplayedCall>> calls_before, calls_after;  // by rank
  std::vector<ChangedTime> times;
  std::vector<std::vector<ReplayedCall>> recorded;
  std::uint64_t waits_ns = 0;  // as classified
};

Outcome what_if(const ScriptedRun& run, std::vector<WorkChange> changes = {},
                std::vector<std::int32_t> ranks = {}, const storage::SpillOptions& spill = {}) {
  Outcome outcome;
  exchange::run_on_threads(1, [&](exchange::Communicator& analysis) {
    const auto own = traces(run, analysis);
    const RankMap rank_map(analysis, own);
    Matched matched = match_traces(analysis, rank_map, own, {}, {.spill = spill, .dependencies = true});
    for (const TimeLine& line : matched.store.lines()) {
      std::vector<ReplayedCall>& calls = outcome.recorded.emplace_back();
      line.events.for_each([&](const Event& event) { calls.push_back({event.enter_ns, event.exit_ns}); });
    }
    for (const WaitSum& sum : matched.wait_sums) outcome.waits_ns += is_whole_wait(sum.pattern) ? sum.ns : 0;
    const ReplaySteps steps = replay_steps(rank_map, matched);
    outcome.before = replay(steps, matched, {}, &outcome.calls_before);
    std::vector<std::uint8_t> change_of(16, 0);
    change_of[kWork] = 1;
    const ChangedWork work = changed_work(rank_map, matched, changes, change_of, ranks);
    outcome.times = work.times;
    outcome.after = replay(steps, matched, work.less, &outcome.calls_after);
  });
  return outcome;
}

bool is_same(const std::vector<std::vector<ReplayedCall>>& a,
             const std::vector<std::vector<ReplayedCall>>& b) {
  return std::ranges::equal(a, b, [](const auto& one, const auto& other) {
    return std::ranges::equal(one, other, [](const ReplayedCall& x, const ReplayedCall& y) {
      return x.enter_ns == y.enter_ns && x.exit_ns == y.exit_ns;
    });
  });
}

/// One rank after the other computes, and then calls; times in ms.
class Program {
 public:
  explicit Program(std::int32_t ranks) : run(ranks), now_(static_cast<std::size_t>(ranks), 0) {}

  void compute(std::int32_t rank, std::uint64_t ms, std::uint32_t context) {
    std::uint64_t& now = now_[static_cast<std::size_t>(rank)];
    // A sample that was taken when a call began is that call's.
    if (ms > 0) run.sample(rank, (now + ms) * kMs - 1, now * kMs, context);
    now += ms;
  }
  /// A call that ends then.
  void call(std::int32_t rank, std::uint64_t until, std::vector<Operation> operations) {
    std::uint64_t& now = now_[static_cast<std::size_t>(rank)];
    run.call(rank, now * kMs, until * kMs, std::move(operations));
    now = until;
  }

  ScriptedRun run;

 private:
  std::vector<std::uint64_t> now_;
};

constexpr WorkChange kRemove{.kind = WorkChange::Kind::remove};

Operation sized(Operation operation, std::uint64_t bytes) {
  operation.bytes = bytes;
  return operation;
}

}  // namespace

TEST_CASE("without changes a replay is the run, to the nanosecond, and waits as it did") {
  REQUIRE(rc::check("identity", [] {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const std::int32_t ranks = *rc::gen::inRange(2, 9);
    const int steps = *rc::gen::inRange(0, 60);
    const SimulatedRun simulated = simulate(seed, ranks, steps);
    const Outcome outcome = what_if(simulated.run);
    RC_ASSERT(is_same(outcome.calls_before, outcome.recorded));
    RC_ASSERT(is_same(outcome.calls_after, outcome.recorded));
    RC_ASSERT(outcome.before.contradictions == 0U);
    RC_ASSERT(outcome.before.waiting_ns <= outcome.waits_ns);
    std::uint64_t sum = 0;
    for (const ReplayedWait& wait : outcome.before.waits) sum += wait.ns;
    RC_ASSERT(sum == outcome.before.waiting_ns);
    // In blocks of one item, everything else in a file.
    const Outcome spilled =
        what_if(simulated.run, {}, {}, {.memory = 1, .block = 1, .calls_sorted_together = 3});
    RC_ASSERT(is_same(spilled.calls_before, outcome.recorded));
    RC_ASSERT(spilled.before.waits == outcome.before.waits);
  }));
}

TEST_CASE("removed work ends the wait at a barrier, up to the next rank's") {
  Program program(3);
  program.call(0, 0, {});
  program.call(1, 0, {});
  program.call(2, 0, {});
  program.compute(0, 30, kWork);
  program.compute(0, 10, kOther);
  program.compute(1, 10, kOther);
  program.compute(2, 16, kOther);
  for (const std::int32_t rank : {0, 1, 2}) program.call(rank, 41, {on(OperationKind::barrier)});
  const Outcome outcome = what_if(program.run, {kRemove});
  CHECK(outcome.before.waiting_ns == (30 + 24) * kMs);
  CHECK(outcome.before.waiting_ns == outcome.waits_ns);
  CHECK(outcome.before.run_ns == 41 * kMs);
  CHECK(outcome.after.run_ns == 17 * kMs);                                        // rank 2 is the last now
  CHECK(static_cast<double>(outcome.after.waiting_ns) == Approx((6 + 6) * 1e6));  // ranks 0 and 1 for it
  REQUIRE(outcome.times.size() == 1);
  CHECK(outcome.times[0].before_ns == Approx(30e6));
  CHECK(outcome.times[0].lines == 1);
}

TEST_CASE("a delay moves on along a chain of messages, and so does its end") {
  Program program(3);
  for (const std::int32_t rank : {0, 1, 2}) program.call(rank, 0, {});
  program.compute(0, 20, kWork);
  program.compute(1, 5, kOther);
  program.compute(2, 5, kOther);
  program.call(0, 21, {message(OperationKind::send, 1)});
  program.call(1, 22, {message(OperationKind::receive, 0)});
  program.compute(1, 4, kOther);
  program.call(1, 27, {message(OperationKind::send, 2)});
  program.call(2, 28, {message(OperationKind::receive, 1)});
  const Outcome outcome = what_if(program.run, {kRemove});
  CHECK(outcome.before.waiting_ns == (15 + 21) * kMs);
  // Now rank 1 receives at once, what was sent long ago, for its own cost: 2 ms, of which it had waited none.
  CHECK(outcome.calls_after[1][1].enter_ns == 5 * kMs);
  CHECK(outcome.calls_after[1][1].exit_ns == 7 * kMs);
  CHECK(outcome.calls_after[2][1].exit_ns == 13 * kMs);  // sent at 11
  CHECK(outcome.after.waiting_ns == 6 * kMs);
}

TEST_CASE("a receive that never waited does once its own rank is faster") {
  Program program(2);
  for (const std::int32_t rank : {0, 1}) program.call(rank, 0, {});
  program.compute(0, 10, kOther);
  program.call(0, 11, {message(OperationKind::send, 1)});
  program.compute(1, 30, kWork);
  program.call(1, 31, {message(OperationKind::receive, 0)});
  const Outcome outcome = what_if(program.run, {kRemove});
  CHECK(outcome.before.waiting_ns == 0);
  CHECK(outcome.after.waiting_ns == 10 * kMs);
  CHECK(outcome.after.run_ns == 11 * kMs);
}

TEST_CASE("whether a send waits for its receive is what the run shows") {
  // The same program; only messages differ.
  const auto outcome_of = [](Operation send, bool eager_before) {
    Program program(2);
    for (const std::int32_t rank : {0, 1}) program.call(rank, 0, {});
    if (eager_before) {  // one that ended before its receive was posted
      program.call(0, 1, {send});
      program.compute(1, 2, kOther);
      program.call(1, 3, {message(OperationKind::receive, 0)});
      program.compute(0, 2, kOther);
    }
    program.compute(0, 20, kWork);
    program.compute(1, 10, kOther);
    program.call(0, eager_before ? 24 : 21, {send});
    program.call(1, eager_before ? 24 : 21, {message(OperationKind::receive, 0)});
    return what_if(program.run, {kRemove});
  };
  const Operation send = message(OperationKind::send, 1);
  CHECK(outcome_of(sized(send, 100), false).after.waiting_ns == 0);
  CHECK(outcome_of(sized(send, 1 << 20), false).after.waiting_ns == 10 * kMs);
  CHECK(outcome_of(sized(send, 1 << 20), true).after.waiting_ns == 0);
  CHECK(outcome_of(message(OperationKind::send_synchronous, 1), false).after.waiting_ns == 10 * kMs);
}

TEST_CASE("a broadcast waits for its root, a reduction for all, and nobody else waits in them") {
  Program program(3);
  // Each has a path of its own: gaps between the same calls are taken for alike.
  const auto call = [&program](std::int32_t rank, std::uint64_t until, OperationKind kind,
                               std::uint32_t path) {
    program.call(rank, until, {on(kind, 0, 0)});
    program.run.path(path);
  };
  for (const std::int32_t rank : {0, 1, 2}) program.call(rank, 0, {});
  program.compute(0, 20, kWork);
  program.compute(1, 5, kOther);
  program.compute(2, 8, kOther);
  for (const std::int32_t rank : {0, 1, 2}) call(rank, 21, OperationKind::one_to_all, 2);
  program.compute(0, 1, kOther);
  program.compute(1, 30, kWork);
  program.compute(2, 3, kOther);
  call(2, 25, OperationKind::all_to_one, 3);
  call(1, 52, OperationKind::all_to_one, 3);
  call(0, 53, OperationKind::all_to_one, 3);
  const Outcome outcome = what_if(program.run, {kRemove});
  CHECK(outcome.before.waiting_ns == (15 + 12 + 29) * kMs);
  CHECK(outcome.calls_after[0][1].exit_ns == 1 * kMs);
  CHECK(outcome.calls_after[1][1].exit_ns == 6 * kMs);
  CHECK(outcome.calls_after[2][1].exit_ns == 9 * kMs);
  CHECK(outcome.calls_after[0][2].enter_ns == 2 * kMs);
  CHECK(outcome.calls_after[0][2].exit_ns == (12 + 2) * kMs);  // rank 2 comes at 12
}

TEST_CASE("nonblocking operations wait where they are completed") {
  Program program(2);
  for (const std::int32_t rank : {0, 1}) program.call(rank, 0, {});
  program.call(1, 0, {begun(message(OperationKind::receive, 0), 1)});
  program.compute(0, 20, kWork);
  program.compute(1, 12, kOther);
  program.call(0, 21, {message(OperationKind::send, 1)});
  program.call(1, 22, {completed(message(OperationKind::receive, 0), 1)});
  const Outcome outcome = what_if(program.run, {{.kind = WorkChange::Kind::speed_up, .factor = 2}});
  CHECK(outcome.before.waiting_ns == 8 * kMs);
  CHECK(outcome.after.waiting_ns == 0);
  CHECK(outcome.after.run_ns == 14 * kMs);  // the transfer's 2 ms behind what overlapped it
}

TEST_CASE("a transfer that stands still until its partner is back in MPI goes on when the partner is") {
  Program program(2);
  for (const std::int32_t rank : {0, 1}) program.call(rank, 0, {});
  program.call(1, 0, {begun(message(OperationKind::receive, 0), 1)});
  program.compute(0, 5, kOther);
  program.compute(1, 30, kWork);
  program.call(0, 33, {sized(message(OperationKind::send, 1), 1 << 20)});
  program.call(1, 33, {completed(message(OperationKind::receive, 0), 1)});
  const Outcome outcome = what_if(program.run, {kRemove});
  CHECK(is_same(outcome.calls_before, outcome.recorded));
  CHECK(outcome.before.waiting_ns == 25 * kMs);
  CHECK(outcome.calls_after[0][1].exit_ns == 8 * kMs);
  CHECK(outcome.after.run_ns == 8 * kMs);
}

TEST_CASE("a call that took long while its partner was inside MPI took that itself") {
  Program program(2);
  for (const std::int32_t rank : {0, 1}) program.call(rank, 0, {});
  program.compute(0, 5, kOther);
  program.compute(1, 6, kWork);
  program.call(0, 33, {sized(message(OperationKind::send, 1), 1 << 20)});
  program.call(1, 32, {message(OperationKind::receive, 0)});
  program.call(1, 33, {});
  const Outcome outcome = what_if(program.run, {kRemove});
  CHECK(is_same(outcome.calls_before, outcome.recorded));
  CHECK(outcome.calls_after[0][1].exit_ns == 32 * kMs);  // 27 from 5 on
}

TEST_CASE("a nonblocking collective goes on when its last member is back in MPI") {
  Program program(2);
  for (const std::int32_t rank : {0, 1}) program.call(rank, 0, {});
  program.compute(1, 40, kWork);
  for (const std::int32_t rank : {0, 1}) {
    const std::uint64_t now = rank == 0 ? 0 : 40;
    program.call(rank, now, {begun(on(OperationKind::barrier), 1)});
    program.compute(rank, 20, kOther);
    program.call(rank, 61, {completed(on(OperationKind::barrier), 1)});
  }
  const Outcome outcome = what_if(program.run, {kRemove});
  CHECK(is_same(outcome.calls_before, outcome.recorded));
  CHECK(outcome.before.waiting_ns == 40 * kMs);  // for the last to come, and to come back
  CHECK(outcome.after.run_ns == 21 * kMs);
  CHECK(outcome.after.waiting_ns == 0);
}

TEST_CASE("a nonblocking prefix reduction waits for lower ranks where it is completed") {
  Program program(2);
  for (const std::int32_t rank : {0, 1}) program.call(rank, 0, {});
  program.compute(0, 30, kWork);
  program.call(0, 30, {begun(on(OperationKind::prefix), 1)});
  program.compute(0, 1, kOther);
  program.call(0, 32, {completed(on(OperationKind::prefix), 1)});
  program.call(1, 0, {begun(on(OperationKind::prefix), 1)});
  program.compute(1, 10, kOther);
  program.call(1, 31, {completed(on(OperationKind::prefix), 1)});
  const Outcome outcome = what_if(program.run, {kRemove});
  CHECK(is_same(outcome.calls_before, outcome.recorded));
  CHECK(outcome.before.waiting_ns == 20 * kMs);
  CHECK(outcome.after.run_ns == 11 * kMs);
}

TEST_CASE("balance gives each rank the mean over the run; even in each interval is another thing") {
  Program program(2);
  for (const std::int32_t rank : {0, 1}) program.call(rank, 0, {});
  std::uint64_t now = 0;
  for (int i = 0; i < 40; ++i) {  // the ranks take turns
    program.compute(i % 2, 30, kWork);
    program.compute(1 - i % 2, 10, kWork);
    now += 31;
    for (const std::int32_t rank : {0, 1}) program.call(rank, now, {on(OperationKind::barrier)});
  }
  const Outcome sums = what_if(program.run, {{.kind = WorkChange::Kind::balance}});
  CHECK(sums.after.run_ns == sums.before.run_ns);
  const Outcome each = what_if(program.run, {{.kind = WorkChange::Kind::even_out}});
  CHECK(each.after.run_ns == 40 * 21 * kMs);
  CHECK(each.after.waiting_ns == 0);
}

TEST_CASE("balance moves work to ranks that have none of it") {
  Program program(4);
  for (const std::int32_t rank : {0, 1, 2, 3}) program.call(rank, 0, {});
  std::uint64_t now = 0;
  for (int i = 0; i < 10; ++i) {
    for (const std::int32_t rank : {0, 1, 2, 3}) program.compute(rank, 10, kOther);
    program.compute(0, 40, kWork);
    now += 51;
    for (const std::int32_t rank : {0, 1, 2, 3}) program.call(rank, now, {on(OperationKind::barrier)});
  }
  const Outcome outcome = what_if(program.run, {{.kind = WorkChange::Kind::balance}});
  CHECK(outcome.times[0].before_ns == Approx(400e6));
  CHECK(outcome.times[0].after_ns == Approx(400e6));
  CHECK_FALSE(outcome.times[0].placed_blindly);
  CHECK(static_cast<double>(outcome.after.run_ns) == Approx(10 * 21e6).epsilon(0.001));
  const Outcome some = what_if(program.run, {{.kind = WorkChange::Kind::balance}}, {0, 1});
  CHECK(static_cast<double>(some.after.run_ns) == Approx(10 * 31e6).epsilon(0.001));
}

TEST_CASE("ranks that come from another call take balanced work on before the same one") {
  Program program(2);
  for (const std::int32_t rank : {0, 1}) program.call(rank, 0, {});
  std::uint64_t now = 0;
  for (int i = 0; i < 10; ++i) {
    program.compute(0, 40, kWork);
    program.compute(1, 5, kOther);
    program.call(1, now + 6, {});
    program.run.path(5);
    program.compute(1, 5, kOther);
    now += 41;
    for (const std::int32_t rank : {0, 1}) program.call(rank, now, {on(OperationKind::barrier)});
  }
  const Outcome outcome = what_if(program.run, {{.kind = WorkChange::Kind::balance}});
  CHECK_FALSE(outcome.times[0].placed_blindly);
  CHECK(static_cast<double>(outcome.after.run_ns) == Approx(10 * 32e6).epsilon(0.001));  // 5 + 1 + 5 + 20 + 1
}

TEST_CASE("calls that would wait for each other for ever go on, and are counted") {
  // Both send first, what neither waited for: the receives were posted when the sends began.
  Program program(2);
  for (const std::int32_t rank : {0, 1}) program.call(rank, 0, {});
  const Operation large = sized(message(OperationKind::send, 0), 1 << 20);
  for (const std::int32_t rank : {0, 1}) {
    Operation send = large;
    send.peer = 1 - rank;
    program.compute(rank, 5, kOther);
    program.call(rank, 6, {send});
    program.call(rank, 7, {message(OperationKind::receive, 1 - rank)});
  }
  const Outcome outcome = what_if(program.run, {kRemove});
  CHECK(is_same(outcome.calls_before, outcome.recorded));
}

TEST_CASE("whatever time lines claim, a replay ends, with all calls") {
  REQUIRE(rc::check("damage", [] {
    const std::int32_t ranks = *rc::gen::inRange(1, 5);
    ScriptedRun run(ranks);
    std::vector<std::uint64_t> now(static_cast<std::size_t>(ranks), 0);
    const int calls = *rc::gen::inRange(0, 80);
    for (int i = 0; i < calls; ++i) {
      const std::int32_t rank = *rc::gen::inRange<std::int32_t>(0, ranks);
      std::vector<Operation> operations;
      for (int left = *rc::gen::inRange(0, 3); left > 0; --left) {
        Operation operation = on(static_cast<OperationKind>(*rc::gen::inRange(0, 30)), 0,
                                 *rc::gen::inRange<std::int32_t>(-3, ranks + 1));
        operation.begins = *rc::gen::arbitrary<bool>();
        operation.completes = *rc::gen::arbitrary<bool>();
        operation.id = *rc::gen::inRange<std::uint64_t>(0, 4);
        operation.tag = *rc::gen::inRange<std::int32_t>(0, 2);
        operation.bytes = *rc::gen::arbitrary<std::uint64_t>();
        operations.push_back(operation);
      }
      std::uint64_t& from = now[static_cast<std::size_t>(rank)];
      if (*rc::gen::arbitrary<bool>()) run.sample(rank, from + kMs - 1, from, kWork);
      const std::uint64_t until = from + kMs + *rc::gen::inRange<std::uint64_t>(0, 20 * kMs);
      run.call(rank, from + kMs, until, operations, 0, *rc::gen::arbitrary<bool>());
      from = until;
    }
    const auto kind = static_cast<WorkChange::Kind>(*rc::gen::inRange(0, 4));
    const Outcome outcome = what_if(run, {{.kind = kind, .factor = 0.001}});
    RC_ASSERT(outcome.before.contradictions > 0 || is_same(outcome.calls_before, outcome.recorded));
    RC_ASSERT(outcome.calls_after.size() == outcome.recorded.size());
    for (std::size_t line = 0; line < outcome.recorded.size(); ++line)
      RC_ASSERT(outcome.calls_after[line].size() == outcome.recorded[line].size());
  }));
}

TEST_CASE("sizes of messages are told apart to a part in a thousand, in their order") {
  REQUIRE(rc::check("monotone", [](std::uint64_t a, std::uint64_t b) {
    RC_ASSERT((a <= b) == (size_code(a) <= size_code(b)) || size_code(a) == size_code(b));
    RC_ASSERT(size_code(a) != Dependency::kSynchronous);
  }));
  CHECK(size_code(4096) < size_code(4101));
}

}  // namespace replay_test
