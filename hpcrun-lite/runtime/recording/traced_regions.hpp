#pragma once

#include "runtime/state/thread.hpp"

#include <cstdint>

// Regions on the time line of a process's main thread (docs/algorithms.md 9): those that the program marks,
// and the outermost parallel regions of OpenMP. They count as segments there, whether they call MPI or not.
namespace culprit::runtime {

/// Whether regions are to be on the thread's time line: on the main thread's, also of a process that does not
/// call MPI (yet).
bool is_on_time_line(const Thread* thread);

/// Whether nothing of ours, and no MPI call, is in progress around the code with this stack address.
bool may_trace(Thread* thread, const void* here);

/// CLOCK_MONOTONIC where a region that begins now is to be on the calling thread's time line; else 0.
std::uint64_t begin_traced_region(const Thread* thread);

/// A region that began at `begin_ns` (0: nothing is recorded) ends in the function that calls the runtime: a
/// parallel one, or one that the program marks and that is still open. Async-signal-safe.
void end_traced_region(Thread* thread, std::uint64_t begin_ns, bool parallel);

}  // namespace culprit::runtime
