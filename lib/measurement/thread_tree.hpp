#pragma once

#include "cct/frame.hpp"
#include "measurement/arena.hpp"
#include "measurement/block_file.hpp"
#include "measurement/kinds.hpp"
#include "measurement/limits.hpp"
#include "measurement/live_layout.hpp"
#include "measurement/stamp_level.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace culprit::measurement {

// Fields that one thread writes and others may read at any moment.

/// Plain addition, but visible whole.
inline void add(std::uint64_t& counter, std::uint64_t value) noexcept {
  const std::atomic_ref reference(counter);
  reference.store(reference.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
}

template <typename T>
T peek(T& field) noexcept {
  return std::atomic_ref(field).load(std::memory_order_relaxed);
}

/// After everything that was written before.
template <typename T>
void publish(T& field, T value) noexcept {
  std::atomic_ref(field).store(value, std::memory_order_release);
}

/// What one handler run adds to a node.
struct SampleValues {
  std::uint64_t time_ns = 0;
  std::uint64_t weight = 0;  ///< nominal periods
  std::uint64_t cpu_ns = 0;
  bool blocked = false;  ///< stands for a call during which the signal was blocked
  WaitKind mark = WaitKind::none;
  NodeIndex stretch = kUnknownStretch;
};

/// One call of one-sided communication as it was, so that the calls of several processes can be laid side by
/// side. Which ones are kept is decided by `order` alone, a hash of window and instance: the same on all.
struct StampValues {
  EpochKind kind = EpochKind::none;
  std::uint32_t instance = 0;  ///< its sequence number among its kind in this window, with this peer
  std::uint32_t members = 0;   ///< how many belong together: the window's processes, the group's members
  std::uint32_t peer = 0;      ///< rank in MPI_COMM_WORLD
  std::uint64_t window = 0;
  std::uint64_t order = 0;
  std::uint64_t enter_ns = 0, exit_ns = 0;
  std::uint64_t last_ns = 0;  ///< exit of the last operation on the peer before, or of MPI_Win_start; 0: none
};

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

/// What all trees of a file have in common.
struct TreeShape {
  std::uint64_t bytes = kTreeBytes;  ///< that one may grow to; at least its first block
  bool has_realtime = true;
  std::size_t events = 0;  ///< besides REALTIME
};

/// The tree of a thread in the arena, or of several threads of one start routine that lived one after the
/// other (LiveFile::add_thread). Only its own thread inserts and records (from the handler, or with the
/// signal blocked); the flusher thread grows it; readers map the file. Lives in static or anonymous memory,
/// never moves. Of a thread that only waits the first page is used.
class alignas(4096) ThreadTree {
 public:
  /// [handler] Finds or adds the child of `parent` with this key. When the arena is full returns `parent`
  /// itself, and does so for all further calls up to the next record or record_event, so that the rest of the
  /// path is not glued under a foreign parent: the sample is then charged to the parent, and counted.
  /// `hint`, any number that distinguishes contexts of one key and is the same when a path comes again, finds
  /// what was asked for before. Where it does not depend on the parent's index, the look-ups of a path's
  /// frames need not wait for each other.
  NodeIndex child(NodeIndex parent, cct::FrameKey key, std::uint64_t hint = 0) noexcept {
    const std::uint32_t place = layout::place_of(key);
    NodeIndex& recent = recent_[recent_slot(key.offset, place, hint)];
    const NodeIndex at = recent;
    const layout::Node& there = *node(at);
    // No node's parent is 0, which is what an empty slot's unit says.
    if (there.offset == key.offset && there.place == place && there.parent == parent && !overflowed_)
        [[likely]]
      return at;
    return recent = find_child(parent, key.offset, place);
  }

  /// [handler] Starts to fetch what record() will need into the cache. Without it `./dev bench handler` takes
  /// 7 % longer with cold caches (2026-11-28).
  void prefetch() const noexcept {
    __builtin_prefetch(&header()->samples, 1);
    __builtin_prefetch(&header()->sum, 1);
  }

  /// The fixed nodes that every tree starts with.
  [[nodiscard]] NodeIndex root() const noexcept { return layout::kRootUnit; }
  [[nodiscard]] NodeIndex program_root() const noexcept { return layout::kProgramRootUnit; }
  [[nodiscard]] NodeIndex thread_root() const noexcept { return layout::kThreadRootUnit; }
  [[nodiscard]] NodeIndex partial() const noexcept { return layout::kPartialUnit; }

  /// [handler] Adds a REALTIME sample to a node (its cell is made on first use; if none fits, to an
  /// ancestor). A blocked sample counts in Cell::blocked, any other in Cell::samples and Cell::weight_sq.
  [[gnu::hot]] void record(NodeIndex node, const SampleValues& values) noexcept;
  /// [handler] Adds to event `event` (0 = the first besides REALTIME) of a node.
  void record_event(NodeIndex node, std::size_t event, std::uint64_t value) noexcept;
  /// CPU time that samples at the node left to one that never came.
  void add_cpu_time(NodeIndex node, std::uint64_t ns) noexcept;

  /// [handler] Fewer units are free than the flusher thread leaves between its turns, and it can add some.
  [[nodiscard]] bool is_low() const noexcept { return free_units() < kLowUnits && can_grow(); }
  /// [handler] The next path or two may find no room.
  [[nodiscard]] bool is_nearly_full() const noexcept { return free_units() < kUrgentUnits && can_grow(); }
  /// [handler] True once for each size of the arena: the caller then wakes the flusher thread.
  [[nodiscard]] bool asks_for_room() noexcept {
    return is_low() && std::exchange(asked_at_, arena_.limit()) != arena_.limit();
  }

  /// Whoever waited for room in vain: nobody is to wait again before there is some.
  void give_up_growth() noexcept { growth_refused_.store(true, std::memory_order_relaxed); }

  /// Adds to the accumulator of (node, kind, size class, window, peers); where there is no room for one more,
  /// to that of (node, kind, size class). Not while the handler may run in this thread.
  void count_epoch(NodeIndex node, const EpochValues& values) noexcept;
  /// Adds to the accumulator of the waiting MPI call at `call`. Not while the handler may run in this thread.
  void count_call(NodeIndex call, std::uint64_t ns) noexcept;
  /// Adds to that of the gap after the call at `from`, of root() after the thread's start, up to the one at
  /// `to`. Not while the handler may run in this thread.
  void count_gap(NodeIndex from, NodeIndex to, std::uint64_t ns) noexcept;
  /// Adds to what the MPI calls at `node` moved, at the root where there is no room. Not while the handler
  /// may run in this thread.
  void count_calls(NodeIndex node, const CallValues& values) noexcept;
  /// Adds messages that were sent to the process with rank `rank` in MPI_COMM_WORLD by a communicator of so
  /// many members, as far as there is room. Not while the handler may run in this thread.
  void count_partner(std::uint64_t communicator, std::uint32_t members, std::uint32_t rank,
                     std::uint64_t messages, std::uint64_t bytes) noexcept;
  /// Adds to what recording calls for time lines took. Not while the handler may run in this thread.
  void add_trace_cost(std::uint64_t ns) noexcept;
  /// Adds to what `calls` of the C library at the node read and wrote, at the root where there is no room.
  void count_bytes(NodeIndex node, std::uint64_t calls, std::uint64_t read, std::uint64_t written) noexcept;
  /// Adds to the accumulator of polls in vain at the node, or where there is no room at the root.
  void count_polls_in_vain(NodeIndex node, std::uint64_t polls) noexcept;
  /// [handler] Adds to what the code at the node made other threads wait (idleness_caused, lock_wait_caused);
  /// where there is no room for one more accumulator, to the root's.
  void count_caused(NodeIndex node, EpochKind kind, std::uint64_t ns) noexcept;
  /// [handler] Adds to a total of the thread.
  void add_total(ThreadTotal total, std::uint64_t ns) noexcept;
  /// Keeps a stamp if its turn has come. Not while the handler may run in this thread.
  void keep_stamp(NodeIndex node, const StampValues& values) noexcept;
  /// Only stamps whose order has this many leading zero bits are kept from now on. Never falls.
  [[nodiscard]] unsigned stamp_level() const noexcept { return stamp_level_.level(); }

  /// [handler] Counters, single writer.
  void count_partial(std::uint64_t time_ns) noexcept;
  void count_bridged() noexcept;
  void add_handler_time(std::uint64_t ns) noexcept;
  /// [handler] The thread's sampling rate was halved, for the `times`-th time.
  void count_halving(std::uint64_t times) noexcept;

  /// Publishes "this thread is blocked at `node` since enter_ns" before a call with the signal blocked, so
  /// that a reader of a cut-short file charges the open interval up to the last heartbeat; end_wait withdraws
  /// it. enter_ns is on the clock that stands still while sampling is stopped (LiveFile::set_stopped).
  void begin_wait(NodeIndex node, std::uint64_t enter_ns, WaitKind mark) noexcept;
  void end_wait() noexcept;

  /// How thread `tid` was scheduled in its life up to now. Does nothing where the tree is no longer its own.
  /// Any thread, outside the handler; waits for another one that is just doing it, for some stores.
  void set_schedule(std::uint64_t tid, const Schedule& schedule) noexcept;

  /// [handler] The thread ends: no more samples, until a later thread may take the tree over.
  void finish(std::uint64_t end_ns) noexcept;

  /// False once the thread has finished or the file is sealed or forgotten: nothing may be recorded then.
  [[nodiscard]] bool usable() const noexcept { return usable_.load(std::memory_order_acquire); }

  /// What a node was found or added below. [handler]
  [[nodiscard]] NodeIndex parent(NodeIndex index) const noexcept { return node(index)->parent; }

  /// False before a thread has it, and once the file is forgotten.
  [[nodiscard]] bool exists() const noexcept { return exists_.load(std::memory_order_acquire); }
  /// The place among the file's threads, and the thread's ordinal. Where it exists.
  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  [[nodiscard]] std::uint32_t ordinal() const noexcept { return header()->ordinal; }

  /// What the thread counted up to now (for a summary line). Any thread.
  [[nodiscard]] const layout::ThreadHeader& counters() const noexcept { return *header(); }

 private:
  friend class LiveFile;
  friend class TreeTable;
  friend class Sealer;

  int create(BlockFile& file, std::uint32_t index, std::uint64_t first_block, const TreeShape& shape,
             std::atomic<std::uint32_t>& ended_trees) noexcept;
  void start(std::uint64_t tid, std::uint32_t ordinal, bool main, cct::FrameKey routine,
             std::uint64_t start_ns) noexcept;
  bool take_over(std::uint64_t tid, std::uint64_t start_ns) noexcept;
  [[nodiscard]] bool ended(cct::FrameKey routine) const noexcept {
    return ended_.load(std::memory_order_acquire) && routine_ == routine;
  }
  int maintain(BlockFile& file) noexcept;
  void release() noexcept;
  [[gnu::hot]] std::uint64_t count_samples(bool charged_elsewhere, bool handler_run) noexcept;
  std::uint64_t count(std::uint64_t& counter, std::uint64_t value) noexcept;
  [[nodiscard]] std::uint64_t growth_since(std::uint32_t used) const noexcept;

  NodeIndex find_child(NodeIndex parent, std::uint64_t offset, std::uint32_t place) noexcept;

  // The nodes that child() returned last, by a hash of key and hint: a slot that does not hold the
  // wanted node is recognised by the node itself.
  static constexpr unsigned kRecentBits = 9;  // 2 KiB
  static std::size_t recent_slot(std::uint64_t offset, std::uint32_t place, std::uint64_t hint) noexcept {
    const std::uint64_t mixed = offset ^ hint ^ std::uint64_t{place} << 12;
    return mixed * 0x9e3779b97f4a7c15U >> (64 - kRecentBits);
  }

  [[nodiscard]] layout::ThreadHeader* header() const noexcept {
    return arena_.at<layout::ThreadHeader>(layout::kThreadHeaderUnit);
  }
  [[nodiscard]] layout::Node* node(NodeIndex index) const noexcept { return arena_.at<layout::Node>(index); }
  NodeIndex allocate(std::uint32_t units) noexcept;
  // Growth starts when fewer units are free. Between two turns of the flusher thread samples add at most some
  // 50 new paths (200 Hz); 48 KiB hold 20 of 60 new frames each, and the paths of a program share most of
  // theirs.
  static constexpr std::uint32_t kLowUnits = 48 * 1024 / layout::kUnit;
  static constexpr std::uint32_t kUrgentUnits = kLowUnits / 4;
  [[nodiscard]] std::uint32_t free_units() const noexcept {
    const std::uint32_t used = std::atomic_ref(header()->used).load(std::memory_order_relaxed);
    const std::uint32_t limit = arena_.limit();
    return used < limit ? limit - used : 0;
  }
  [[nodiscard]] bool can_grow() const noexcept {
    return !arena_.exhausted() && !growth_refused_.load(std::memory_order_relaxed);
  }
  NodeIndex allocate_record(std::uint64_t& sum) noexcept;
  /// Accumulators by a hash of their key, with open addressing. Zero as the kernel made it: to write it would
  /// touch pages of each thread.
  struct RecordTable {
    std::uint32_t count;
    NodeIndex records[kEpochSlots];
  };
  NodeIndex find_record(RecordTable& table, NodeIndex node, const EpochValues& values, std::size_t most,
                        std::uint64_t& sum) noexcept;
  template <typename Change>
  std::uint64_t change_record(NodeIndex at, Change change) noexcept;
  template <typename Change>
  void count_in(RecordTable& table, NodeIndex node, const EpochValues& key, std::size_t most,
                Change change) noexcept;
  template <typename Change>
  void count_call_of(NodeIndex node, const EpochValues& key, std::size_t most, Change change) noexcept;
  static void add_to(layout::EpochRecord& record, std::uint64_t ns) noexcept;
  /// The same, and keeps the longest as the window.
  static void add_length(layout::EpochRecord& record, std::uint64_t ns) noexcept;
  static void add_to(layout::EpochRecord& record, const CallValues& values) noexcept;
  [[gnu::cold]] std::uint64_t count_apart(NodeIndex node, const SampleValues& values) noexcept;
  NodeIndex stamp_record(std::uint64_t& sum) noexcept;
  void thin_stamps(std::uint64_t& sum) noexcept;
  static void write_stamp(layout::EpochRecord& record, NodeIndex node, const StampValues& values) noexcept;
  NodeIndex make_cell(NodeIndex index) noexcept;
  [[gnu::hot]] NodeIndex cell_of(NodeIndex index, bool& charged_elsewhere) noexcept;
  bool lock_schedule() noexcept;
  void unlock_schedule() noexcept;
  // Between the two a reader finds the count odd, whenever the process is killed: the sum is not right yet.
  // Nor will it be where the count is odd before: a signal's handler jumped out of a change.
  void begin_change() noexcept {
    layout::ThreadHeader& head = *header();
    std::uint32_t begun = head.changes + 1;
    if (begun % 2 == 0) {
      std::atomic_ref(head.flags).store(head.flags & ~layout::kFlagSummed, std::memory_order_relaxed);
      ++begun;
    }
    std::atomic_ref(head.changes).store(begun, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  void end_change(std::uint64_t added_sum) noexcept {
    layout::ThreadHeader& head = *header();
    add(head.sum, added_sum);
    publish(head.changes, head.changes + 1);
  }

  Arena arena_;
  std::uint32_t index_ = 0;
  std::uint32_t cell_units_ = 0;
  std::uint32_t event_count_ = 0;
  bool has_realtime_ = true;
  std::uint32_t spare_ = 0;                  // a unit that aligning a cell left over; 0: none
  bool overflowed_ = false;                  // a frame of the sample being taken found no room
  bool waiting_ = false;                     // a wait is published
  std::uint32_t asked_at_ = 0;               // the arena's limit when more room was asked for
  std::atomic<bool> growth_refused_{false};  // there was no space when the flusher thread last tried
  Schedule ended_schedule_;                  // of the threads that used the tree before
  cct::FrameKey routine_;                    // as in the header, which is a cache miss away
  std::atomic<bool> exists_{false};
  std::atomic<bool> usable_{false};
  std::atomic<bool> ended_{false};                     // its thread has ended: a later one may take it over
  std::atomic<std::uint32_t>* ended_trees_ = nullptr;  // how many of the file's have
  std::uint32_t stamp_count_ = 0, stamp_records_ = 0;
  StampLevel stamp_level_;
  // Zero as the kernel made them: to write them would touch six pages of each thread.
  NodeIndex recent_[std::size_t{1} << kRecentBits];
  RecordTable epochs_;
  RecordTable stretches_;
  RecordTable calls_;
  RecordTable caused_;
  NodeIndex stamps_[kEpochStamps];  // records, the first stamp_count_ of them in use
};

}  // namespace culprit::measurement
