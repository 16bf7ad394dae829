#pragma once

#include "cct/frame.hpp"
#include "measurement/block_file.hpp"
#include "measurement/kinds.hpp"
#include "measurement/limits.hpp"
#include "measurement/live_layout.hpp"
#include "measurement/thread_accumulators.hpp"
#include "measurement/thread_arena.hpp"
#include "measurement/thread_life.hpp"
#include "measurement/thread_stamps.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace culprit::measurement {

/// What one handler run adds to a node.
struct SampleValues {
  std::uint64_t time_ns = 0;
  std::uint64_t weight = 0;  ///< nominal periods
  std::uint64_t cpu_ns = 0;
  bool blocked = false;  ///< stands for a call during which the signal was blocked
  WaitKind mark = WaitKind::none;
  NodeIndex stretch = kUnknownStretch;
};

/// What all trees of a file have in common.
struct TreeShape {
  std::uint64_t bytes = kTreeBytes;  ///< that one may grow to; at least its first block
  bool has_realtime = true;
  std::size_t events = 0;  ///< besides REALTIME
};

/// Counters in a thread's header, of which it is the single writer. [handler]
class ThreadCounters {
 public:
  explicit ThreadCounters(ThreadArena& arena) noexcept : arena_(arena) {}

  /// A sample whose path is partial, and one with a frame whose caller was not found by call-frame
  /// information.
  void count_partial(std::uint64_t time_ns) noexcept;
  void count_bridged() noexcept;
  void add_handler_time(std::uint64_t ns) noexcept;
  /// The thread's sampling rate was halved, for the `times`-th time.
  void count_halving(std::uint64_t times) noexcept;

 private:
  ThreadArena& arena_;
};

/// The nodes that a tree's child() returned last, by a hash of key and hint: a slot that does not hold the
/// wanted node is recognised by the node itself.
class RecentNodes {
 public:
  NodeIndex& slot(std::uint64_t offset, std::uint32_t place, std::uint64_t hint) noexcept {
    const std::uint64_t mixed = offset ^ hint ^ std::uint64_t{place} << 12;
    return nodes_[mixed * 0x9e3779b97f4a7c15U >> (64 - kBits)];
  }

 private:
  static constexpr unsigned kBits = 9;  // 2 KiB
  NodeIndex nodes_[std::size_t{1} << kBits];
};

/// The calling context tree of a thread in its arena, or of several threads of one start routine that lived
/// one after the other (LiveFile::add_thread), with what else is kept of them. Only its own thread inserts
/// and records (from the handler, or with the signal blocked); the flusher thread grows it; readers map the
/// file. Lives in static or anonymous memory, never moves. Of a thread that only waits the first page is
/// used.
class alignas(4096) ThreadTree {
 public:
  /// `ended_trees`: how many trees of the file a later thread may take over.
  explicit ThreadTree(std::atomic<std::uint32_t>& ended_trees) noexcept : life_(arena_, ended_trees) {}

  /// [handler] Finds or adds the child of `parent` with this key. When the arena is full returns `parent`
  /// itself, and does so for all further calls up to the next record or record_event, so that the rest of the
  /// path is not glued under a foreign parent: the sample is then charged to the parent, and counted.
  /// `hint`, any number that distinguishes contexts of one key and is the same when a path comes again, finds
  /// what was asked for before. Where it does not depend on the parent's index, the look-ups of a path's
  /// frames need not wait for each other.
  NodeIndex child(NodeIndex parent, cct::FrameKey key, std::uint64_t hint = 0) noexcept {
    const std::uint32_t place = layout::place_of(key);
    NodeIndex& recent = recent_.slot(key.offset, place, hint);
    const NodeIndex at = recent;
    const layout::Node& there = *node(at);
    // No node's parent is 0, which is what an empty slot's unit says.
    if (there.offset == key.offset && there.place == place && there.parent == parent && !arena_.overflowed())
        [[likely]]
      return at;
    return recent = find_child(parent, key.offset, place);
  }

  /// [handler] Starts to fetch what record() will need into the cache. Without it `./dev bench handler` takes
  /// 7 % longer with cold caches (2026-11-28).
  void prefetch() const noexcept {
    __builtin_prefetch(&arena_.header()->samples, 1);
    __builtin_prefetch(&arena_.header()->sum, 1);
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

  /// What a node was found or added below. [handler]
  [[nodiscard]] NodeIndex parent(NodeIndex index) const noexcept { return node(index)->parent; }

  /// The place among the file's threads. Where it exists.
  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  /// Who the thread is, and what it counted up to now. Any thread.
  [[nodiscard]] const layout::ThreadHeader& header() const noexcept { return *arena_.header(); }
  [[nodiscard]] ThreadCounters counters() noexcept { return ThreadCounters(arena_); }

  [[nodiscard]] ThreadArena& arena() noexcept { return arena_; }
  [[nodiscard]] const ThreadArena& arena() const noexcept { return arena_; }
  [[nodiscard]] ThreadLife& life() noexcept { return life_; }
  [[nodiscard]] const ThreadLife& life() const noexcept { return life_; }
  [[nodiscard]] ThreadAccumulators& accumulators() noexcept { return accumulators_; }
  [[nodiscard]] ThreadStamps& stamps() noexcept { return stamps_; }

 private:
  friend class LiveFile;
  friend class TreeTable;
  friend class Sealer;

  int create(BlockFile& file, std::uint32_t index, std::uint64_t first_block,
             const TreeShape& shape) noexcept;
  void start(std::uint64_t tid, std::uint32_t ordinal, bool main, cct::FrameKey routine,
             std::uint64_t start_ns) noexcept;
  int maintain(BlockFile& file) noexcept { return life_.usable() ? arena_.grow_ahead(file, index_) : 0; }
  void release() noexcept;

  NodeIndex find_child(NodeIndex parent, std::uint64_t offset, std::uint32_t place) noexcept;

  [[nodiscard]] layout::Node* node(NodeIndex index) const noexcept { return arena_.at<layout::Node>(index); }
  NodeIndex make_cell(NodeIndex index) noexcept;
  [[gnu::hot]] NodeIndex cell_of(NodeIndex index, bool& charged_elsewhere) noexcept;
  [[gnu::hot]] std::uint64_t count_samples(bool charged_elsewhere, bool handler_run) noexcept;

  ThreadArena arena_;
  ThreadLife life_;
  ThreadAccumulators accumulators_{arena_, accumulator_tables_};
  ThreadStamps stamps_{arena_, stamp_records_};
  std::uint32_t index_ = 0;
  std::uint32_t cell_units_ = 0;
  std::uint32_t event_count_ = 0;
  bool has_realtime_ = true;
  // Zero as the kernel made them: to write them would touch six pages of each thread.
  RecentNodes recent_;
  ThreadAccumulators::Tables accumulator_tables_;
  ThreadStamps::Records stamp_records_;
};

}  // namespace culprit::measurement
