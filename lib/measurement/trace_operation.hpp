#pragma once

#include <cstddef>
#include <cstdint>

// What the MPI wrappers, the runtime and the analyses call the operations of a trace; free of anything that
// allocates, and of anything that only one MPI knows: the wrappers translate handles and constants.
namespace culprit::measurement::trace {

/// A communicator, group or window, as an index into this process's definitions, in the order of their
/// making; several processes know one communicator by different indices and the same Definition::global_id.
using Context = std::uint32_t;
inline constexpr Context kNoContext = ~Context{0};

inline constexpr std::int32_t kNobody = -1;     ///< MPI_PROC_NULL, or no peer at all
inline constexpr std::int32_t kAnySource = -2;  ///< a receive that was posted for any source
inline constexpr std::int32_t kAnyTag = -1;
inline constexpr std::int32_t kAllTargets = -2;  ///< MPI_Win_lock_all and its like
/// The root of a collective between two groups, in the root itself; to the others of its group it is kNobody,
/// to the other group its rank there.
inline constexpr std::int32_t kRootHere = -3;

/// What an operation is. Ranks are those of its communicator or window.
enum class OperationKind : std::uint8_t {
  none = 0,
  // Messages: context is the communicator, peer the other process, tag and bytes the message's.
  send,              ///< standard or ready mode: may wait for the receive (rendezvous) or not (eager)
  send_synchronous,  ///< returns or completes only after the receive was posted
  send_buffered,     ///< never waits
  receive,           ///< `peer` and `tag` as posted; where it completes, as the status says
  receive_matched,   ///< of a message that a matched probe took; `id` is the probe's where it begins
  probe,             ///< `id` is that of the message where it is a matched probe, else 0
  // Collectives: context is the communicator, peer the root (kNobody without one).
  barrier,
  one_to_all,
  all_to_one,
  all_to_all,
  prefix,       ///< inclusive or exclusive scan
  neighbors,    ///< over the neighbours of a topology
  create,       ///< of a communicator, window or file, by all of `context`; where that is kNoContext, by the
                ///< members of the new one alone. `made` names it, if it is no file and this process is in it
  free,         ///< of a window (context: the window) or a file (context: its communicator)
  file_access,  ///< a collective call on a file; context is the communicator that opened it
  initialize,   ///< MPI_Init: exit counts
  finalize,     ///< MPI_Finalize
  // One-sided: context is the window.
  put,  ///< peer is the target, bytes what the operation moves
  get,
  accumulate,  ///< and MPI_Fetch_and_op, MPI_Compare_and_swap, …
  fence,
  start,  ///< `group` names the targets
  complete,
  post,  ///< `group` names the origins
  wait,  ///< MPI_Win_wait, or the MPI_Win_test that succeeded
  lock,  ///< peer is the target, or kAllTargets
  unlock,
  flush,  ///< MPI_Win_flush, MPI_Win_flush_all
  flush_local,
  // Marks of the program.
  iteration,  ///< culprit_iteration(n): bytes is n
};

inline constexpr int kOperationKinds = 31;

/// One operation that a call begins, completes, or both.
struct Operation {
  OperationKind kind = OperationKind::none;
  bool begins = true;      ///< the operation is posted or initiated by this call
  bool completes = true;   ///< it is complete when this call returns; neither: it is freed
  bool cancelled = false;  ///< where it completes: it was cancelled, nothing matched
  bool exclusive = false;  ///< lock: MPI_LOCK_EXCLUSIVE
  bool no_precede = false, no_succeed = false;  ///< fence: MPI_MODE_NOPRECEDE, MPI_MODE_NOSUCCEED
  bool no_check = false;                        ///< start, post, lock: MPI_MODE_NOCHECK
  std::uint64_t id = 0;  ///< links a beginning to its completion within the process; 0: one call does both
  Context context = kNoContext;
  Context group = kNoContext;
  Context made = kNoContext;
  std::int32_t peer = kNobody;
  std::int32_t tag = 0;
  std::uint64_t bytes = 0;           ///< sent, moved or, where a receive completes, received
  std::uint64_t bytes_received = 0;  ///< collectives
};

enum class DefinitionKind : std::uint8_t { communicator, intercommunicator, group, window };
inline constexpr int kDefinitionKinds = 4;

/// A communicator, group or window that is to be named; trace::Definition says what the fields mean.
struct NewDefinition {
  DefinitionKind kind = DefinitionKind::communicator;
  std::uint64_t global_id = 0;
  std::uint32_t size = 0;
  std::int32_t rank = kNobody;
  Context parent = kNoContext;
  const std::int32_t* members = nullptr;
  std::size_t member_count = 0;
  const std::int32_t* remote = nullptr;
  std::size_t remote_count = 0;
  const std::int32_t* sources = nullptr;
  std::size_t source_count = 0;
  const std::int32_t* destinations = nullptr;
  std::size_t destination_count = 0;
};

/// Two clocks read at one moment, or this process's clock against another's (docs/algorithms.md 11).
struct ClockPair {
  std::uint64_t monotonic_ns = 0;
  std::int64_t realtime_ns = 0;
  /// Where clocks of hosts were compared: the other process's rank in MPI_COMM_WORLD, its CLOCK_MONOTONIC at
  /// monotonic_ns, and how long the fastest exchange took. kNobody: none was.
  std::int32_t reference = kNobody;
  std::uint64_t reference_ns = 0;
  std::uint64_t round_trip_ns = 0;
};

}  // namespace culprit::measurement::trace
