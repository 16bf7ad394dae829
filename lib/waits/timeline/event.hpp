#pragma once

#include "metrics/wait_pattern.hpp"

#include <compare>
#include <cstdint>

// What the analyses know of a run's time lines, in numbers that all ranks of the analysis agree on.
namespace culprit::waits {

using metrics::kWaitPatterns, metrics::WaitPattern;

/// A thread with a time line: threads of the lowest rank in MPI_COMM_WORLD first, in order of their start.
using Location = std::uint32_t;
inline constexpr Location kNoLocation = ~Location{0};

/// The `index`-th MPI call on a time line.
struct EventId {
  Location location = kNoLocation;
  std::uint32_t index = 0;

  [[nodiscard]] bool known() const { return location != kNoLocation; }
  friend auto operator<=>(const EventId&, const EventId&) = default;  // NOLINT(modernize-use-nullptr)
};

/// An MPI call. Millions of them are kept: 32 bytes.
struct Event {
  std::uint64_t enter_ns = 0, exit_ns = 0;            ///< on the clock that all hosts share after correction
  std::uint32_t context = 0;                          ///< of the united tree
  bool initialize : 1 = false, finalize : 1 = false;  ///< MPI_Init, MPI_Finalize
  bool sampled : 1 = false;                           ///< the gap before it holds samples
  bool any : 1 = false;  ///< waits until the earliest of its operations is complete; else until the latest
  std::uint32_t gap : 28 = 0;  ///< the Regions' number of what lies between the call before and it
  std::uint32_t waits = 0;  ///< once classified: where the line's waits of this call and those after it begin
  std::uint32_t wait = 0;   ///< once classified: how long it waited, in ns; kLongWait: see there
  static constexpr std::uint32_t kLongWait = ~std::uint32_t{0};
};

/// Something that may have kept a call waiting. Which of a call's candidates did is decided when all are
/// known (wait_classification.hpp): one alone does not say.
struct Candidate {
  std::uint32_t event = 0;  ///< the call's index on its time line
  WaitPattern pattern = WaitPattern::none;
  bool first : 1 = true;      ///< of a collective: the call that was entered first
  bool returned : 1 = false;  ///< not the message was late, but who completed it
  std::uint16_t size = 0;     ///< of a late receiver: of the send, as Dependency::size
  /// When what it depends on was entered; parts and completions have since when they last instead:
  /// late_complete since the latest arrival, completions since all might have left.
  std::uint64_t ns = 0;
  EventId cause;
  std::uint32_t cause_context = 0;  ///< that call's path
  std::uint32_t since = kNoCall;    ///< of a lock: the call on the cause's line with which it was requested
  static constexpr std::uint32_t kNoCall = ~std::uint32_t{0};
};

/// A call of this time line received a message.
struct Receipt {
  std::uint32_t event = 0;
  std::uint64_t sent_ns = 0;  ///< the enter of its send
};

/// A call of this time line ended a wait of another one: a synchronization point of the two.
struct Awaited {
  std::uint32_t event = 0;
  bool by_its_end = false;  ///< not when it was entered, but when it was left
  EventId waiter;
};

/// A call of this time line took part in a collective instance: the `instance`-th on that communicator or
/// window.
struct CollectiveInstance {
  std::uint32_t event = 0;
  std::uint32_t instance : 31 = 0;
  bool synchronized : 1 = false;  ///< all members: none left it before the last one entered it
  std::uint64_t context = 0;      ///< its global id
};

/// A sample, in the gap before the `gap`-th call of the time line (after the last: one more).
struct Sample {
  std::uint32_t gap = 0;
  std::uint32_t context = 0;
  std::uint32_t charged =
      0;  ///< the context, or where it waited for other threads of the process, what those did
  std::uint32_t waiting = 0;  ///< whether the thread waited for others of its process
  std::uint64_t ns = 0;       ///< that it stands for
};

/// A wait for other threads of the process, outside of MPI calls.
struct ThreadWait {
  std::uint64_t begin_ns = 0, end_ns = 0;
  std::uint64_t before_ns = 0;    ///< what all before it on the time line took
  std::uint64_t released_ns = 0;  ///< when the holder gave back what was waited for, or ended
  Location holder = kNoLocation;  ///< the thread that it was for; kNoLocation: unknown
  WaitPattern pattern = WaitPattern::none;
  std::uint8_t unused[3] = {};  ///< not left out: what lies there is packed with the rest
};

/// An invocation of a region that the program marks, or of a parallel one, with its own stamps.
struct StampedInvocation {
  std::uint64_t begin_ns = 0, end_ns = 0;
  std::uint32_t context = 0;  ///< of the region, not of what it was called from
  std::uint32_t unused = 0;   ///< not left out: what lies there is packed with the rest
};

/// A reading of the counter of an event besides REALTIME.
struct Reading {
  std::uint64_t ns = 0;     ///< when
  std::uint64_t value = 0;  ///< what was counted since the reading of that event before
  std::uint32_t event = 0;  ///< by its number among the run's
  std::uint32_t context = 0;
};

/// Where in its call a time line was at a synchronization point.
enum class SyncedAs : std::uint8_t {
  waiter,    ///< its wait ended, also one of no length: what is left of the call is still to come
  entering,  ///< it entered the call: all its waits are still to come
  leaving    ///< it left the call
};

/// The last synchronization point of two time lines before a wait, as the waiter knows it: call `own` here
/// (none: from the beginning), and there either a call that is named, or the one that took part in a
/// collective.
struct IntervalStart {
  static constexpr std::uint32_t kBeginning = ~std::uint32_t{0};
  std::uint64_t context = 0;  ///< of the collective; 0: `other` is the index of the call
  std::uint32_t own = kBeginning;
  std::uint32_t other = kBeginning;  ///< of a collective: its instance
  SyncedAs own_as = SyncedAs::waiter, other_as = SyncedAs::waiter;
};

/// A wait of a call, classified. Millions of them are kept: 64 bytes.
struct Wait {
  std::uint32_t event = 0;
  WaitPattern pattern = WaitPattern::none;
  bool first : 1 = true;        ///< of those that a collective kept waiting: the longest
  bool cause_ends : 1 = false;  ///< it ended with the end of the cause, not with its beginning
  bool overlapped : 1 = false;  ///< a later call of its line (a loop of polls) was entered before it ended
  bool contended : 1 = false;   ///< for a lock: what the cause did since call `other` bears it
  SyncedAs own_as : 2 = SyncedAs::waiter,
                    other_as : 2 = SyncedAs::waiter;  ///< see IntervalStart, as those below
  std::uint32_t own = IntervalStart::kBeginning, other = IntervalStart::kBeginning;
  std::uint64_t synced_in = 0;  ///< IntervalStart::context
  std::uint64_t ns = 0;
  std::uint64_t until_ns = 0;  ///< when it ended
  EventId cause;
  std::uint64_t sum_ns = 0;  ///< of the time line's waits up to it, parts and completions left out
  std::uint32_t context = 0, cause_context = 0;  ///< the paths of the call and of that which caused it

  /// Of its synchronization interval (docs/algorithms.md 8).
  [[nodiscard]] IntervalStart start() const {
    return {.context = synced_in, .own = own, .other = other, .own_as = own_as, .other_as = other_as};
  }
  void set_start(const IntervalStart& start) {
    synced_in = start.context;
    own = start.own;
    other = start.other;
    own_as = start.own_as;
    other_as = start.other_as;
  }
};

/// A receive that was complete before its send began, as the clocks have it.
struct ClockViolation {
  Location location = kNoLocation;  ///< the receiver's
  std::uint64_t received_ns = 0;    ///< the receive's end
  std::uint64_t sent_ns = 0;        ///< the send's beginning, after it
};

}  // namespace culprit::waits
