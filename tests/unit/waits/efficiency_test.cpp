#include "waits/efficiency.hpp"

#include "scripted_run.hpp"

#include <catch2/catch.hpp>

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
