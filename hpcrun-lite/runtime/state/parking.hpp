#pragma once

#include "measurement/kinds.hpp"
#include "measurement/limits.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace culprit::runtime {

/// What parking needs of one thread.
struct Parking {
  measurement::NodeIndex node;  ///< of the last sample
  std::uint32_t unchanged;      ///< samples in a row before it that were there, with hardly any CPU time used
  /// The number of them after which the thread is parked. Doubled where a wait whose end nobody sees was
  /// short: threads that wait briefly, now here, now there, are sampled as if they worked.
  std::uint32_t patience;
  bool end_is_seen;  ///< an interposed function returns when the wait ends
  bool ended;        ///< the thread was parked until just now; for so long:
  std::uint64_t waited_ns;
  // The wait of a parked thread.
  measurement::WaitKind mark;
  std::uint64_t since_ns;  ///< on the sampling clock
  std::atomic<bool> on;    ///< parked; written by the thread alone, as all above
  std::atomic<int> timer;  ///< the kernel's id of that on the CPU clock; -1: none yet
  // For the flusher thread, where nobody sees the end of the wait (CLOCK_MONOTONIC).
  std::atomic<std::uint64_t> began_ns;
  std::atomic<bool> looked_at;           ///< since then
  std::atomic<std::uint64_t> looked_ns;  ///< when last
  std::atomic<std::uint64_t> cpu_ns;     ///< the thread's CPU time then
  std::atomic<std::uint64_t> doubt_ns;   ///< between two looks, in which the wait ended; 0: it is certain
};

/// What expirations of Parking::timer bear in the place of an event's index.
inline constexpr int kParkingTimer = 64;

/// At most this many threads are parked: those with higher numbers never are.
inline constexpr std::size_t kMostWatched = 16384;

}  // namespace culprit::runtime
