#pragma once

#include "cct/frame.hpp"
#include "measurement/published_calls_layout.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// What the threads of a process publish of the calls that they are in, as a reader finds it
// (docs/formats.md, chapter "Live measurement", "Calls"). Handles mean something within one process only.
namespace culprit::measurement {

/// Where a thread sleeps in a call of the system from which it is not woken to be sampled; else where it was
/// at its last sample.
struct PublishedPlace {
  std::uint32_t ordinal = 0;          ///< of the thread, as ThreadProfile::ordinal
  cct::FrameKey start_routine;        ///< likewise
  std::vector<cct::FrameKey> frames;  ///< from the root, which is left out; empty where there is no sample
  std::uint64_t sleeps_since = 0;     ///< CLOCK_MONOTONIC; 0: it does not, or not for long
};

/// A thread that makes MPI calls.
struct PublishedThread {
  calls::Call call{};
  bool whole = true;  ///< false: the process was killed, or never stops, while the words up to begun change
  PublishedPlace place;

  /// Whether the thread is in the call, or in its series of polls.
  [[nodiscard]] bool inside() const { return call.entered != call.left; }
  /// Grows whenever the thread makes a call of MPI that waits or moves a message.
  [[nodiscard]] std::uint64_t progress() const { return call.entered + call.messages_noted; }
  /// Since when it is known to be in that call, or outside of any: CLOCK_MONOTONIC; 0: unknown.
  [[nodiscard]] std::uint64_t since() const {
    const std::uint64_t state = 2 * call.entered + (inside() ? 0 : 1);
    return call.seen == state ? call.since : place.sleeps_since;
  }
};

/// A thread that waits for a lock.
struct PublishedLockWait {
  calls::LockWait wait{};
  PublishedPlace place;
};

struct PublishedCalls {
  bool there = false;  ///< the file has the block: live files of MPI processes
  std::uint64_t heartbeat_ns =
      0;  ///< CLOCK_MONOTONIC: when the process was last known to live; 0: no live file
  std::uint32_t threads_lost = 0, contexts_lost = 0;
  std::uint64_t threads_gone = 0;  ///< that ended, and what they published with them
  std::vector<calls::Context> contexts;
  std::vector<PublishedThread> threads;
  std::vector<PublishedLockWait> lock_waits;
};

/// Reads what the threads of a process publish, and where they are; frames of modules from `modules` on have
/// none. Trusts nothing: of any bytes it makes valid objects. Throws MeasurementError where the file cannot
/// be read or a block's header is damaged; of what is no live measurement nothing is there.
PublishedCalls read_published_calls(const std::string& path, std::size_t modules);

/// Up to when the process of a live measurement is known to have lived: CLOCK_REALTIME, as it was set at its
/// start. 0 for what is no live measurement. Throws MeasurementError where the file cannot be read.
std::int64_t lived_until_ns(const std::string& path);

}  // namespace culprit::measurement
