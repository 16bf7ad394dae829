#include "waits/path/critical_path.hpp"

#include "scripted_run.hpp"
#include "simulated_run.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace critical_path_test {

using namespace culprit::waits;
using namespace culprit::waits::testing;

namespace {

std::uint64_t all_times(const CriticalPath& path) {
  std::uint64_t sum = 0;
  for (const CriticalTime& time : path.times) sum += time.ns;
  return sum;
}

std::uint64_t time_of(const CriticalPath& path, Location location, std::uint32_t context) {
  std::uint64_t sum = 0;
  for (const CriticalTime& time : path.times) {
    if (time.location == location && time.path.context == context) sum += time.ns;
  }
  return sum;
}

constexpr std::uint32_t kInit = 1, kSend = 2, kReceive = 3, kFinalize = 4, kFoo = 20, kBar = 21;

}  // namespace

TEST_CASE("the critical path goes over to what a wait was for, and is as long as the run") {
  // Process 0 works in foo until 1000, process 1 waits for its message, then works in bar until 1500.
  ScriptedRun run(2);
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    run.call(rank, 0, 10, {on(OperationKind::initialize)});
    run.path(kInit);
  }
  run.sample(0, 500, 10, kFoo);
  run.call(0, 1000, 1005, {message(OperationKind::send, 1)});
  run.path(kSend);
  run.call(1, 20, 1020, {message(OperationKind::receive, 0)});
  run.path(kReceive);
  run.sample(1, 1200, 1100, kBar);
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    run.call(rank, rank == 0 ? 1100 : 1500, 1510, {on(OperationKind::finalize)});
    run.path(kFinalize);
  }
  for (const int analysts : {1, 2}) {
    const CriticalPath path = analyse(run, analysts).path;
    CHECK(path.begin_ns == 10);
    CHECK(path.end_ns == 1500);
    CHECK(path.last.location == 1);
    CHECK(time_of(path, 0, kFoo) == 990);
    CHECK(time_of(path, 1, kReceive) == 20);
    CHECK(time_of(path, 1, kBar) == 480);
    CHECK(path.calls_ns == 20);
    CHECK(all_times(path) == path.length_ns());
  }
}

TEST_CASE(
    "a loop of polls around other calls takes no part of the critical path twice, for any number of "
    "analysts") {
  // Process 1 polls from 30 to 1200, and in between waits from 20 to 1020 for process 0's message.
  ScriptedRun run(2);
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    run.call(rank, 0, 10, {on(OperationKind::initialize)});
    run.path(kInit);
  }
  run.call(0, 1000, 1005, {message(OperationKind::send, 1)});
  run.path(kSend);
  run.call(1, 20, 1020, {message(OperationKind::receive, 0)});
  run.path(kReceive);
  run.call(1, 30, 1200, {});
  run.path(kBar);
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    run.call(rank, rank == 0 ? 1100 : 1500, 1510, {on(OperationKind::finalize)});
    run.path(kFinalize);
  }
  const CriticalPath path = analyse(run, 1).path;
  CHECK(all_times(path) == path.length_ns());
  CHECK(time_of(path, 1, kBar) > 0);
  CHECK(analyse(run, 2).path.times == path.times);
}

TEST_CASE("the critical path goes on with the thread that calls MPI while the main thread waits for it") {
  // The second thread of process 0 works in foo until 1000 and sends; that of process 1 receives, then works
  // in bar until 1400. Main threads only wait for them.
  ScriptedRun run(2, 2);
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    run.call(rank, 0, 10, {on(OperationKind::initialize)});
    run.path(kInit);
  }
  run.call(0, 1000, 1005, {message(OperationKind::send, 1)}, 1);
  run.path(kSend);
  run.call(1, 30, 1010, {message(OperationKind::receive, 0)}, 1);
  run.path(kReceive);
  run.sample(1, 1390, 1010, kBar, 1);
  run.call(1, 1400, 1401, {}, 1);
  run.path(kSend);
  run.sample(0, 500, 10, kFoo);  // what the second thread did, as the merge charges it
  run.thread_wait(0, 20, 1006, culprit::measurement::WaitKind::join);
  run.thread_wait(1, 20, 1405, culprit::measurement::WaitKind::join);
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    run.call(rank, rank == 0 ? 1100 : 1500, 1510, {on(OperationKind::finalize)});
    run.path(kFinalize);
  }
  for (const int analysts : {1, 2}) {
    const CriticalPath path = analyse(run, analysts).path;
    CHECK(time_of(path, 0, kFoo) == 990);
    CHECK(time_of(path, 3, kReceive) == 10);
    CHECK(time_of(path, 3, kBar) == 390);
    CHECK(all_times(path) == path.length_ns());
  }
}

TEST_CASE("the critical path goes on with the thread that held the main thread's lock") {
  // The main thread waits for a lock until 1006. The second thread leaves a call of MPI shortly before, as if
  // it had ended the wait; the third one, of which the record says that it held the lock, works in bar.
  ScriptedRun run(1, 3);
  run.call(0, 0, 10, {on(OperationKind::initialize)});
  run.path(kInit);
  run.call(0, 990, 1003, {}, 1);
  run.path(kSend);
  run.call(0, 20, 30, {}, 2);
  run.path(kReceive);
  run.sample(0, 1000, 30, kBar, 2);
  run.call(0, 1050, 1060, {}, 2);
  run.path(kReceive);
  run.sample(0, 1000, 10, kFoo);
  SECTION("that calls MPI") {
    run.thread_wait(0, 20, 1006, culprit::measurement::WaitKind::lock, {.thread = 2, .released_ns = 1004});
  }
  SECTION("one of several that held it after each other") {
    run.thread_wait(0, 20, 1004, culprit::measurement::WaitKind::lock, {.thread = 2, .released_ns = 1004});
    run.thread_wait(0, 1004, 1006, culprit::measurement::WaitKind::lock, {.thread = 7, .released_ns = 1006});
  }
  run.call(0, 1100, 1110, {on(OperationKind::finalize)});
  run.path(kFinalize);
  for (const int analysts : {1, 2}) {
    const CriticalPath path = analyse(run, analysts).path;
    CHECK(time_of(path, 2, kBar) == 974);
    CHECK(time_of(path, 2, kReceive) == 10);
    CHECK(time_of(path, 1, kSend) == 0);
    CHECK(all_times(path) == path.length_ns());
  }
}

TEST_CASE("the critical path ends where two threads seem to wait for each other at one moment") {
  // The second thread gives the main thread's lock back at 1000, having waited since its call before.
  ScriptedRun run(1, 2);
  run.call(0, 0, 10, {on(OperationKind::initialize)});
  run.path(kInit);
  run.call(0, 15, 16, {}, 1);
  run.path(kReceive);
  run.sample(0, 1000, 16, kBar, 1, culprit::measurement::WaitKind::condition);
  run.call(0, 1040, 1050, {}, 1);
  run.path(kSend);
  run.thread_wait(0, 20, 1000, culprit::measurement::WaitKind::lock, {.thread = 1, .released_ns = 1000});
  run.call(0, 1100, 1110, {on(OperationKind::finalize)});
  run.path(kFinalize);
  for (const int analysts : {1, 2}) {
    const CriticalPath path = analyse(run, analysts).path;
    CHECK(all_times(path) == path.length_ns());
  }
}

TEST_CASE("the critical path leaves a thread that waited for the main thread to send something") {
  // Process 0: its main thread receives until 800 from process 1, which works in foo until then. Its second
  // thread sent something before, waits for the main thread, and sends again at 1000. Process 1 waits for
  // that.
  ScriptedRun run(2, 2);
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    run.call(rank, 0, 10, {on(OperationKind::initialize)});
    run.path(kInit);
  }
  run.call(0, 15, 16, {}, 1);
  run.sample(0, 990, 16, kBar, 1, culprit::measurement::WaitKind::condition);
  run.call(0, 1000, 1005, {message(OperationKind::send, 1, 7)}, 1);
  run.path(kSend);
  run.call(0, 20, 805, {message(OperationKind::receive, 1)});
  run.path(kReceive);
  run.sample(1, 700, 10, kFoo);
  run.call(1, 800, 803, {message(OperationKind::send, 0)});
  run.path(kSend);
  run.call(1, 810, 1010, {message(OperationKind::receive, 0, 7)});
  run.path(kReceive);
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    run.call(rank, rank == 0 ? 1100 : 1500, 1510, {on(OperationKind::finalize)});
    run.path(kFinalize);
  }
  for (const int analysts : {1, 2}) {
    const CriticalPath path = analyse(run, analysts).path;
    CHECK(time_of(path, 2, kFoo) == 790);
    CHECK(time_of(path, 1, kBar) == 0);
    CHECK(all_times(path) == path.length_ns());
  }
}

TEST_CASE("the critical path of a random run is as long as the run, for any number of analysts") {
  REQUIRE(rc::check("length", [] {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const std::int32_t ranks = *rc::gen::inRange(2, 9);
    const int steps = *rc::gen::inRange(0, 60);
    SimulatedRun simulated = simulate(seed, ranks, steps);
    const CriticalPath path = analyse(simulated.run, 1).path;
    RC_ASSERT(all_times(path) == path.length_ns());
    std::uint64_t end = 0;
    for (const auto& process : simulated.run.processes) {
      if (!process.threads[0].empty()) end = std::max(end, process.threads[0].back().exit_ns);
    }
    RC_ASSERT(path.end_ns == end);
    const CriticalPath other = analyse(simulated.run, 3).path;
    RC_ASSERT(other.times == path.times);
    RC_ASSERT(other.last == path.last);
  }));
}

TEST_CASE("a run without calls has no critical path") {
  CHECK(analyse(ScriptedRun(2)).path.length_ns() == 0);
}

}  // namespace critical_path_test
