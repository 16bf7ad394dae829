#pragma once

#include <atomic>
#include <cstdint>

// Starting and stopping: sampling may begin late (--delay), and be stopped and resumed by the program at any
// time. While it is stopped no timer runs, and the clock by which ticks are due stands still, so that the
// time between is charged to nothing, whatever thread was doing whatever when it was stopped.
namespace culprit::runtime {

/// Written only while holding the lock of start_stop.cpp, read from handlers.
struct Control {
  std::atomic<std::uint64_t> stopped_since{0};  ///< CLOCK_MONOTONIC; 0 while sampling goes on
  std::atomic<std::uint64_t> stopped_total{0};  ///< ns of all stops that are over
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
