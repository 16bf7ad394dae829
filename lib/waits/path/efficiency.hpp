#pragma once

#include "exchange/communicator.hpp"
#include "waits/path/critical_path.hpp"
#include "waits/variation/time_map.hpp"

#include <cstdint>

namespace culprit::waits {

/// The POP efficiencies of the whole run (docs/algorithms.md 10), shares of 1. All 0 where the run has no
/// length.
struct Efficiency {
  double parallel = 0;  ///< by the product of the next two: what main threads do not wait for other threads
  double load_balance = 0, communication = 0;
  double serialization = 0, transfer = 0;
  std::uint64_t run_ns = 0;  ///< earliest exit of MPI_Init to latest exit of MPI_Finalize
};

/// Collective; the same on all ranks. Of each process its first time line counts, as in `map`: what it does
/// outside MPI is useful, but for waits for other threads.
Efficiency efficiency(exchange::Communicator& analysis, const TimeMap& map, const CriticalPath& path);

}  // namespace culprit::waits
