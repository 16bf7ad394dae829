#pragma once

#include "views/sample_experiment.hpp"

namespace culprit::views::testing {

/// A conjugate-gradient solver on 8 ranks, 1000 s each, of which ranks 3 and 7 spend 41 % more in spmv, so
/// that the others wait in MPI_Allreduce. Metrics: REALTIME, idleness, CPU, samples, imbalance.
struct SolverSample {
  SolverSample();

  SampleExperiment sample;
  database::ContextId program = 0, main = 0, setup = 0, iterate = 0, loop = 0, spmv = 0, spmv_loop = 0,
                      dot = 0, allreduce = 0, progress = 0;
};

/// The same with one worker thread per rank that waits on a condition half of the time.
struct WorkersSample {
  WorkersSample();

  SampleExperiment sample;
  database::ContextId condition_wait = 0;
};

}  // namespace culprit::views::testing
