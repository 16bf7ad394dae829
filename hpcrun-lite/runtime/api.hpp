#pragma once

#include "runtime/export.hpp"

#include <cstdint>

// What the runtime offers to the MPI wrappers, which live in a library of their own so that the runtime needs
// no MPI.
extern "C" {

/// What one thread's wrappers and its signal handler share.
struct CulpritThread {
  void* state;  ///< the runtime's own; null where the thread is not sampled
  std::uintptr_t
      marked_below;   ///< stack address of the outermost marked call: frames below it are inside; 0 none
  std::uint8_t mark;  ///< culprit::measurement::WaitKind of that call
};

/// A function that stands in for `function` in call paths while it lives on the stack: the wrapper's own
/// frame is replaced by one frame at that address.
struct CulpritStandIn {
  std::uint32_t depth;
};

/// What rank 0 settles for all ranks after MPI_Init, broadcast as bytes.
struct CulpritWorld {
  char run_id[40];
  char suffix[40];  ///< appended to the measurement directory's name where it already holds another MPI run
  std::uint64_t ranks;
};

/// Sums for the closing line; all of them add up over ranks.
struct CulpritTotals {
  std::uint64_t samples, partial, dropped, processes;
};

extern __thread CulpritThread culprit_rt_thread
    __attribute__((tls_model("initial-exec"), visibility("default")));

/// False where this process is not measured.
__attribute__((visibility("default"))) bool culprit_rt_active();
/// Frames of the library that holds `address` never appear in call paths.
__attribute__((visibility("default"))) void culprit_rt_own_library(const void* address);
/// Begins and ends a stand-in; `frame` is an address in the caller's stack frame.
__attribute__((visibility("default"))) CulpritStandIn culprit_rt_stand_in(const void* frame,
                                                                          const void* function);
__attribute__((visibility("default"))) void culprit_rt_end_stand_in(CulpritStandIn stand_in);
/// Rank 0, after MPI_Init: settles the run's identity.
__attribute__((visibility("default"))) void culprit_rt_begin_world(CulpritWorld* world);
/// Every rank, with what rank 0 settled. `mpi` names the library and its version.
__attribute__((visibility("default"))) void culprit_rt_join_world(int rank, const CulpritWorld* world,
                                                                  const char* mpi);
/// This process's totals up to now.
__attribute__((visibility("default"))) CulpritTotals culprit_rt_totals();
/// Rank 0, in MPI_Finalize: prints the closing line of the whole run.
__attribute__((visibility("default"))) void culprit_rt_close_world(const CulpritTotals* totals);
/// MPI_Abort: ends the measurement as aborted.
__attribute__((visibility("default"))) void culprit_rt_abort();
}
