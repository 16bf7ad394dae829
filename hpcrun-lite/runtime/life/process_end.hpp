#pragma once

#include "measurement/kinds.hpp"

#include <limits>

namespace culprit::runtime {

inline constexpr int kNoExitStatus = std::numeric_limits<int>::min();

/// Records the end of the process and seals its measurement, once. `exit_status`: what it was asked to exit
/// with. Async-signal-safe.
void end_process(measurement::EndReason reason, int exit_status = kNoExitStatus);

/// From now on the measurement of a process that crashes says by which signal and, if the thread has called
/// MPI, where: before SIGSEGV,
/// SIGBUS, SIGFPE, SIGILL or SIGABRT takes its default action, in whatever thread. What the program sees of
/// these signals, and how it dies, stays as it is.
void record_crashes();

/// Ends the measurement of a process that aborts, and notes where. With own_process(); not inlined: the path
/// begins here.
__attribute__((noinline)) void end_by_abort();

/// From now on they are the kernel's alone: the process may not be allowed the system calls that it takes.
void forget_crashes();

}  // namespace culprit::runtime
