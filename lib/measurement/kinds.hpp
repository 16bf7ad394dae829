#pragma once

#include <cstdint>

// Enumerations that the runtime, the files and the tools share; free of anything that allocates.
namespace culprit::measurement {

/// Why a wait is a wait; what the layer that knows the call marked a sample with (docs/algorithms.md 5.1).
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

/// Whom a wait for other threads was for: the thread that held the lock, or whose end was awaited.
struct WaitHolder {
  static constexpr std::uint32_t kUnknown = ~std::uint32_t{0};
  std::uint32_t thread = kUnknown;  ///< ThreadProfile::ordinal; as lib/waits reads it: its index
  std::uint64_t released_ns = 0;    ///< when that one gave the lock back, or ended, and so ended the wait

  [[nodiscard]] bool known() const { return thread != kUnknown; }
};

/// What an accumulator of one-sided communication is about (docs/algorithms.md 6): the calls that may wait,
/// and the gaps between an origin's last operation on a target and the call that closes its epoch.
enum class EpochKind : std::uint8_t {
  none = 0,
  create,        ///< MPI_Win_create and its like
  free,          ///< MPI_Win_free
  access,        ///< MPI_Put, MPI_Get, …
  start,         ///< MPI_Win_start
  complete,      ///< MPI_Win_complete
  wait,          ///< MPI_Win_wait, or a spinning MPI_Win_test up to its success
  fence,         ///< MPI_Win_fence
  lock,          ///< MPI_Win_lock, MPI_Win_lock_all
  flush,         ///< MPI_Win_flush and MPI_Win_unlock, all forms
  complete_gap,  ///< exit of the last operation on the target, or of MPI_Win_start → MPI_Win_complete
  fence_gap,     ///< exit of the last operation on the target → MPI_Win_fence
  // Stamps: single calls of some epochs, the same ones on all processes (EpochStamp).
  create_stamp,
  free_stamp,
  fence_stamp,
  fence_access_stamp,  ///< the last operation on the peer before the fence of this instance
  post_stamp,          ///< MPI_Win_post for the peer, and so on: one for each member of the group
  start_stamp,
  complete_stamp,
  wait_stamp,
  // Calls that move many bytes (docs/blame.md): `window` is the family of calls that cost alike.
  transfer,           ///< their durations
  transfer_sent,      ///< bytes that they sent, in place of times
  transfer_received,  ///< bytes that they received
  transfer_cost,  ///< at the root: durations of the calls whose cost per byte is alike; `peers` says which
  // Stamps of such calls, one for each operation: `window` is a communicator's collectives, or one process's
  // messages to another.
  collective_stamp,
  sent_stamp,
  received_stamp,
  /// Of calls with a passive target: from their enter until another process, the rank `peers` - 1, gave a
  /// lock back that excluded theirs.
  lock_wait,
  post_wait,  ///< of an operation: from its enter until its target, the rank `peers` - 1, posted
  // Stretches of a thread's time: the MPI calls that wait, and the gaps between them
  // (docs/algorithms.md 5.7). `size_class` is a node: of a gap that of the call which ends it.
  waiting_call,
  gap,              ///< from the exit of the call at the node, or of the root from the thread's start
  stretch_samples,  ///< samples at the node in another stretch than the one that its cell names
  /// What MPI calls at one call path moved, of processes without a trace (docs/formats.md).
  call_count,
  trace_cost,  ///< at the root: what following and recording calls took, by timed calls or by samples in our
               ///< code
  /// At the root: messages to one process by one communicator, of processes without a trace.
  partner_count,
  // Who idles because of whom within the process (docs/algorithms.md 12), in ns.
  idleness_caused,   ///< by the code at the node, as sampled
  lock_wait_caused,  ///< by who gave a lock back at the node
  thread_total,      ///< of the root: what the thread counted; `size_class` is a ThreadTotal
  polls_in_vain,     ///< MPI_Test and its like at the node that found nothing: how many
  bytes_moved,       ///< what calls of the C library at the node read and wrote
};
inline constexpr int kEpochKinds = 40;

/// What threads count exactly of idleness, and of waits for locks, in ns.
enum class ThreadTotal : std::uint8_t {
  caused = 0,        ///< idleness that the thread caused
  idle,              ///< how long it idled
  borne_by_nobody,   ///< of all threads' idleness what none of them caused
  lock_caused,       ///< waits for locks that the thread held
  lock_waited,       ///< how long it waited for locks
  lock_unborne,      ///< of that: when nobody held the lock, or nobody is known to have
  caused_unsampled,  ///< idleness that threads caused which lived too briefly for a sample
};
inline constexpr int kThreadTotals = 7;

/// Bits of the size class of calls with a passive target, and of accesses.
inline constexpr std::uint32_t kPassiveTarget = 1U << 16;  ///< between MPI_Win_lock and MPI_Win_unlock
inline constexpr std::uint32_t kReleasesKnown = 1U << 17;  ///< lock_wait, post_wait say what it waited for
inline constexpr std::uint32_t kGivesLockBack = 1U << 18;  ///< MPI_Win_unlock, MPI_Win_unlock_all
inline constexpr std::uint32_t kStartedAccess = 1U << 19;  ///< between MPI_Win_start and MPI_Win_complete

/// Of one-sided communication.
constexpr bool is_stamp(EpochKind kind) {
  return kind >= EpochKind::create_stamp && kind <= EpochKind::wait_stamp;
}

constexpr bool is_transfer_stamp(EpochKind kind) {
  return kind >= EpochKind::collective_stamp && kind <= EpochKind::received_stamp;
}

/// Accumulators of calls that move many bytes.
constexpr bool is_transfer(EpochKind kind) {
  return kind >= EpochKind::transfer && kind <= EpochKind::transfer_cost;
}

/// The stretch of a sample, beside the number of a node, which no number of these is: within an MPI call that
/// waits; or any, since calls are not followed at present. A node's is the gap after the call there, of the
/// root from the thread's start.
inline constexpr std::uint32_t kInWaitingCall = 1;
inline constexpr std::uint32_t kUnknownStretch = 2;

/// Of accumulators of who idles because of whom.
constexpr bool is_caused(EpochKind kind) {
  return kind >= EpochKind::idleness_caused && kind <= EpochKind::thread_total;
}

/// Of accumulators of stretches.
constexpr bool is_stretch(EpochKind kind) {
  return kind >= EpochKind::waiting_call && kind <= EpochKind::stretch_samples;
}

/// Whether their ninth field, `order`, is in files.
constexpr bool has_order(EpochKind kind) {
  return is_stretch(kind) || kind == EpochKind::call_count;
}

/// How a process, and with it its measurement, ended.
enum class EndReason : std::uint8_t {
  running = 0,  ///< no end was recorded: the process was killed, or is still running (cut short)
  exit,         ///< exit, return from main, or the end of the last thread
  quick_exit,   ///< _exit, _Exit, quick_exit
  exec,         ///< replaced by another program
  abort,        ///< MPI_Abort or abort()
  signal,       ///< a deadly signal that could be caught
  left,         ///< as exit or quick_exit, of one of several ranks, from MPI_Init to the end of MPI_Finalize
};

/// Whether a process that ended so came to an end of its own; any other was cut short.
constexpr bool orderly(EndReason end) {
  return end == EndReason::exit || end == EndReason::quick_exit || end == EndReason::exec ||
         end == EndReason::left;
}

}  // namespace culprit::measurement
