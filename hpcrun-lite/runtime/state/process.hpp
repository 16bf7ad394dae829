#pragma once

#include "measurement/limits.hpp"
#include "measurement/live.hpp"
#include "measurement/live_trace.hpp"
#include "runtime/events/event_list.hpp"
#include "runtime/pace/brake.hpp"
#include "runtime/system/system_calls.hpp"

#include <atomic>
#include <cstdint>

namespace culprit::runtime {

/// A region, or usually a wait for threads, of fewer ns has no record of its own on time lines: that costs a
/// tenth of a microsecond, for a region some.
inline constexpr std::uint64_t kLeastTraced = 20'000;

/// What holds for the whole process from the constructor on.
struct Process {
  bool active = false;        ///< this process is measured
  bool launched = false;      ///< it is the one that hpcrun-lite became
  bool one_of_ranks = false;  ///< that one, and an MPI launcher started several like it
  bool quiet = false;
  bool verbose = false;
  bool empty_handler = false;  ///< benchmarks: the handler only re-arms its timer
  bool names_files = false;    ///< samples in calls that read and write say of which file
  bool traced = false;         ///< a trace is to be recorded too
  std::uint64_t trace_limit = 0;
  std::uint64_t least_traced_wait = kLeastTraced;  ///< ns; shorter waits for threads are added up
  std::uint64_t tree_bytes = measurement::kTreeBytes;
  std::uint64_t added_cost = 0;    ///< tests: ns that each handler run seems to take beside what it takes
  bool no_find_object = false;     ///< tests: as if glibc had no _dl_find_object
  bool no_shared_mapping = false;  ///< tests: as if the file system served no shared mappings
  long pid = 0;
  int signal = 0;
  int papi_signal = 0;  ///< PAPI's, where its events are sampled
  KernelMask mask = 0;  ///< the bits of both
  EventList events;
  const char* const* arguments = nullptr;  ///< the program's, where the kernel laid them out
  bool samples_kernel_events = false;      ///< events of the kernel are among them
  bool samples_switches = false;           ///< in particular, context switches
  Brake brake;
  std::uint64_t start_ns = 0;
  std::int64_t start_realtime_ns = 0;
  std::atomic<bool> in_mpi{false};   ///< one of several ranks, from MPI_Init to the end of MPI_Finalize
  std::atomic<bool> stopped{false};  ///< no thread may record any more
  std::atomic<bool> ended{false};    ///< the end was recorded
  std::atomic<long> dying{0};        ///< the thread that a signal kills once the end is recorded
};

inline constinit Process process;

/// True in the process that was set up; false in a child that shares its memory (vfork) or escaped the fork
/// hooks. Async-signal-safe.
inline bool own_process() {
  return process.active && process_id() == process.pid;
}

}  // namespace culprit::runtime

// Starting and stopping: sampling may begin late (--delay), and be stopped and resumed by the program at any
// time. While it is stopped no timer runs, and the clock by which ticks are due stands still, so that the
// time between is charged to nothing, whatever thread was doing whatever when it was stopped.
namespace culprit::runtime {

/// Written only while holding the lock of start_stop.cpp, read from handlers.
struct Control {
  std::atomic<std::uint64_t> stopped_since{0};  ///< CLOCK_MONOTONIC; 0 while sampling goes on
  std::atomic<std::uint64_t> stopped_total{0};  ///< ns of all stops that are over
  std::atomic<std::uint32_t> changes{0};        ///< odd while the two above do not fit each other
  std::atomic<bool> delayed{false};             ///< --delay, and culprit_start was not called yet
  std::atomic<bool> off{false};                 ///< never again in this process: its rank is not wanted
};

inline constinit Control control;

/// Async-signal-safe, as all that follows.
inline bool sampling_stopped() {
  return control.stopped_since.load(std::memory_order_seq_cst) != 0;
}

/// The sampling clock at `time` of CLOCK_MONOTONIC: it stands still while sampling is stopped. Read in the
/// middle of a change it may be early, never late: what is due then is found due at the next look.
inline std::uint64_t sampling_time(std::uint64_t time) {
  const std::uint64_t since = control.stopped_since.load(std::memory_order_acquire);
  const std::uint64_t total = control.stopped_total.load(std::memory_order_acquire);
  return (since != 0 && since < time ? since : time) - total;
}

/// When the sampling clock will show `time`, if it is not stopped before.
inline std::uint64_t monotonic_time(std::uint64_t time) {
  return time + control.stopped_total.load(std::memory_order_acquire);
}

}  // namespace culprit::runtime

// The files of the process: created by recording.cpp and tracing.cpp, ended by process_life.cpp.
namespace culprit::runtime {

inline constinit measurement::LiveFile file;
inline constinit measurement::LiveTrace trace_file;

}  // namespace culprit::runtime
