#pragma once

#include "measurement/limits.hpp"
#include "runtime/events/event_list.hpp"
#include "runtime/pace/brake.hpp"
#include "runtime/system/system_calls.hpp"

#include <atomic>
#include <cstdint>

namespace culprit::runtime {

/// What holds for the whole process from the constructor on.
struct Process {
  bool active = false;    ///< this process is measured
  bool launched = false;  ///< it is the one that hpcrun-lite became
  bool quiet = false;
  bool verbose = false;
  bool empty_handler = false;  ///< benchmarks: the handler only re-arms its timer
  bool traced = false;         ///< a trace is to be recorded too
  std::uint64_t trace_limit = 0;
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
  std::atomic<bool> stopped{false};  ///< no thread may record any more
  std::atomic<bool> ended{false};    ///< the end was recorded
};

inline constinit Process process;

/// True in the process that was set up; false in a child that shares its memory (vfork) or escaped the fork
/// hooks. Async-signal-safe.
inline bool own_process() {
  return process.active && process_id() == process.pid;
}

}  // namespace culprit::runtime
