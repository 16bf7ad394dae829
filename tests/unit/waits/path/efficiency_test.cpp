#include "waits/path/efficiency.hpp"

#include "scripted_run.hpp"

#include <catch2/catch.hpp>

namespace efficiency_test {

using namespace culprit::waits;
using namespace culprit::waits::testing;

TEST_CASE("efficiencies are those of the time outside MPI, and of the critical path") {
  // Useful: 600 and 400 of the 1000 between the first end of MPI_Init and the last of MPI_Finalize. The
  // critical path works 400, passes 20 in the barrier and works 200 more, all on rank 0.
  ScriptedRun run(2);
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    run.call(rank, 0, 100, {on(OperationKind::initialize)});
    run.call(rank, rank == 0 ? 500 : 300, 520, {on(OperationKind::barrier)});
    run.call(rank, 720, 1100, {on(OperationKind::finalize)});
  }
  for (const int analysts : {1, 2}) {
    const Efficiency found = analyse(run, analysts).efficiency;
    CHECK(found.run_ns == 1000);
    CHECK(found.load_balance == Approx(500.0 / 600));
    CHECK(found.communication == Approx(0.6));
    CHECK(found.parallel == Approx(0.5));
    CHECK(found.transfer == Approx(0.6));
    CHECK(found.serialization == Approx(1.0));
  }
}

TEST_CASE("what threads wait for each other is not useful, but part of what their ranks take") {
  ScriptedRun run(2);
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    run.call(rank, 0, 100, {on(OperationKind::initialize)});
    if (rank == 0) run.thread_wait(rank, 200, 450);
    run.call(rank, rank == 0 ? 500 : 300, 520, {on(OperationKind::barrier)});
    run.call(rank, 720, 1100, {on(OperationKind::finalize)});
  }
  for (const int analysts : {1, 2}) {
    const Efficiency found = analyse(run, analysts).efficiency;
    CHECK(found.load_balance == Approx(500.0 / 600));
    CHECK(found.communication == Approx(0.6));
    CHECK(found.parallel == Approx(0.375));
    CHECK(found.transfer == Approx(0.6));
  }
}

TEST_CASE(
    "without transfers a run takes as long as its busiest rank computes, wherever the critical path is") {
  // Rank 1 is in MPI until shortly before it sends what rank 0, which worked for 500, waits for: the critical
  // path goes over to it and works 20 only.
  ScriptedRun run(2);
  for (std::int32_t rank = 0; rank < 2; ++rank) run.call(rank, 0, 100, {on(OperationKind::initialize)});
  run.call(1, 110, 640, {});
  run.call(1, 650, 700, {message(OperationKind::send, 0)});
  run.call(0, 600, 700, {message(OperationKind::receive, 1)});
  for (std::int32_t rank = 0; rank < 2; ++rank) run.call(rank, 700, 1100, {on(OperationKind::finalize)});
  const Found found = analyse(run, 1);
  CHECK(found.path.length_ns() - found.path.calls_ns == 20);
  CHECK(found.efficiency.communication == Approx(0.5));
  CHECK(found.efficiency.transfer == Approx(0.5));
  CHECK(found.efficiency.serialization == Approx(1.0));
}

}  // namespace efficiency_test
