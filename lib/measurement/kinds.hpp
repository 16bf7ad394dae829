#pragma once

#include <cstdint>

// Enumerations that the runtime, the files and the tools share; free of anything that allocates.
namespace culprit::measurement {

/// Why a wait is a wait; what the layer that knows the call marked a sample with (algorithms.md 5.1).
enum class WaitKind : std::uint8_t {
  none = 0,
  mpi,          ///< inside a blocking MPI call
  omp_barrier,  ///< at an OpenMP barrier
  omp_idle,     ///< an OpenMP worker without work
  lock,         ///< waiting for a lock
  condition,    ///< waiting on a condition variable
  join,         ///< waiting for a thread to end
};
inline constexpr int kWaitKinds = 7;

/// How a process, and with it its measurement, ended.
enum class EndReason : std::uint8_t {
  running = 0,  ///< no end was recorded: the process was killed, or is still running (cut short)
  exit,         ///< exit, return from main, or the end of the last thread
  quick_exit,   ///< _exit, _Exit, quick_exit
  exec,         ///< replaced by another program
  abort,        ///< MPI_Abort or abort()
  signal,       ///< a deadly signal that could be caught
};

/// Whether a process that ended so did what it was to do; any other was cut short.
constexpr bool orderly(EndReason end) {
  return end == EndReason::exit || end == EndReason::quick_exit || end == EndReason::exec;
}

}  // namespace culprit::measurement
