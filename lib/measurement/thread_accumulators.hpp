#pragma once

#include "measurement/kinds.hpp"
#include "measurement/limits.hpp"
#include "measurement/live_layout.hpp"
#include "measurement/thread_arena.hpp"

#include <cstddef>
#include <cstdint>

namespace culprit::measurement {

/// One call of one-sided communication, or one gap, that ended.
struct EpochValues {
  EpochKind kind = EpochKind::none;
  std::uint32_t size_class = 0;  ///< calls with the same are alike in what they cost without waiting
  std::uint64_t window = 0;      ///< the same in all processes of the window; 0 unknown
  std::uint64_t peers = 0;       ///< a hash of their ranks in MPI_COMM_WORLD; of a gap the target's rank
  std::uint64_t time_ns = 0;
};

/// What some MPI calls at one call path moved, in bytes.
struct CallValues {
  std::uint64_t calls = 0;
  std::uint64_t messages = 0;  ///< that they sent or received; a process's part in a collective is one
  std::uint64_t bytes = 0;     ///< of these: the larger of what each gave and got
  std::uint64_t sent = 0, received = 0;
  std::uint32_t smallest = 0;  ///< of one message, or the largest number that there is room for
  std::uint64_t largest = 0;
};

/// What a thread adds up beside samples, by call path: calls of one-sided communication, the lengths of
/// waiting calls and gaps, what calls moved, and idleness caused. Not while the handler may run in the
/// thread, but for what says [handler].
class ThreadAccumulators {
 public:
  /// Accumulators by a hash of their key, with open addressing. Zero as the kernel made it: to write it would
  /// touch pages of each thread.
  struct Table {
    std::uint32_t count;
    NodeIndex records[kEpochSlots];
  };
  struct Tables {
    Table epochs, stretches, calls, caused;
  };

  ThreadAccumulators(ThreadArena& arena, Tables& tables) noexcept : arena_(arena), tables_(tables) {}

  /// Adds to the accumulator of (node, kind, size class, window, peers); where there is no room for one more,
  /// to that of (node, kind, size class).
  void count_epoch(NodeIndex node, const EpochValues& values) noexcept;
  /// Adds to the accumulator of the waiting MPI call at `call`.
  void count_call(NodeIndex call, std::uint64_t ns) noexcept;
  /// Adds to that of the gap after the call at `from`, of the root after the thread's start, up to the one at
  /// `to`.
  void count_gap(NodeIndex from, NodeIndex to, std::uint64_t ns) noexcept;
  /// [handler] Adds a sample in another stretch than the one that its cell names. Within a change: returns
  /// what it adds to the sum.
  [[gnu::cold]] std::uint64_t count_apart(NodeIndex node, NodeIndex stretch, std::uint64_t time_ns,
                                          std::uint64_t weight_sq) noexcept;
  /// Adds to what the MPI calls at `node` moved, at the root where there is no room.
  void count_calls(NodeIndex node, const CallValues& values) noexcept;
  /// Adds messages that were sent to the process with rank `rank` in MPI_COMM_WORLD by a communicator of so
  /// many members, as far as there is room.
  void count_partner(std::uint64_t communicator, std::uint32_t members, std::uint32_t rank,
                     std::uint64_t messages, std::uint64_t bytes) noexcept;
  /// Adds to what `calls` of the C library at the node read and wrote, at the root where there is no room.
  void count_bytes(NodeIndex node, std::uint64_t calls, std::uint64_t read, std::uint64_t written) noexcept;
  /// Adds to the accumulator of polls in vain at the node, or where there is no room at the root.
  void count_polls_in_vain(NodeIndex node, std::uint64_t polls) noexcept;
  /// Adds to what recording calls for time lines took.
  void add_trace_cost(std::uint64_t ns) noexcept;
  /// [handler] Adds to what the code at the node made other threads wait (idleness_caused, lock_wait_caused);
  /// where there is no room for one more accumulator, to the root's.
  void count_caused(NodeIndex node, EpochKind kind, std::uint64_t ns) noexcept;
  /// [handler] Adds to a total of the thread.
  void add_total(ThreadTotal total, std::uint64_t ns) noexcept;

 private:
  NodeIndex find_record(Table& table, NodeIndex node, const EpochValues& values, std::size_t most,
                        std::uint64_t& sum) noexcept;
  template <typename Change>
  void count_in(Table& table, NodeIndex node, const EpochValues& key, std::size_t most,
                Change change) noexcept;
  template <typename Change>
  void count_call_of(NodeIndex node, const EpochValues& key, std::size_t most, Change change) noexcept;

  ThreadArena& arena_;
  Tables& tables_;
};

}  // namespace culprit::measurement
