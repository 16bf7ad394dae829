#pragma once

#include "measurement/arena.hpp"
#include "measurement/block_file.hpp"
#include "measurement/limits.hpp"
#include "measurement/live_layout.hpp"
#include "measurement/thread_sum.hpp"

#include <atomic>
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

/// What the nodes, cells and records of one thread are stored in, behind the thread's header, with the sum
/// that shows a reader whether they are whole (thread_sum.hpp). Only the tree's own thread changes it (from
/// the handler, or with the signal blocked); the flusher thread adds room. Async-signal-safe throughout.
class ThreadArena {
 public:
  /// Begins with a block of `first_block` bytes, for at most `bytes`, as thread number `index`. Returns 0 or
  /// an errno.
  int create(BlockFile& file, std::uint32_t index, std::uint64_t first_block, std::uint64_t bytes) noexcept;
  /// Unmaps everything.
  void release() noexcept { arena_.release(); }

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
  /// The flusher thread's turn: adds room where it is low. Returns 0 or the errno of a growth that failed.
  int grow_ahead(BlockFile& file, std::uint32_t index) noexcept;

  [[nodiscard]] layout::ThreadHeader* header() const noexcept {
    return at<layout::ThreadHeader>(layout::kThreadHeaderUnit);
  }
  template <typename T>
  [[nodiscard]] T* at(NodeIndex unit) const noexcept {
    return arena_.at<T>(unit);
  }
  /// Units that are mapped: all below this number.
  [[nodiscard]] std::uint32_t limit() const noexcept { return arena_.limit(); }

  /// Between the two a reader finds the count odd, whenever the process is killed: the sum is not right yet.
  /// Nor will it be where the count is odd before: a signal's handler jumped out of a change.
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

  // Within a change. They return what they add to the sum, or add it to `sum`.

  /// Room for a node (1 unit), a cell or a record, without the sum (growth_since()); kNoNodeIndex: there is
  /// none.
  NodeIndex allocate(std::uint32_t units) noexcept;
  /// What was allocated since `used` units were used.
  [[nodiscard]] std::uint64_t growth_since(std::uint32_t used) const noexcept {
    const layout::ThreadHeader& head = *header();
    return 0 - layout::growth(head, head.used, used);
  }
  /// Adds to a counter of the header.
  std::uint64_t count(std::uint64_t& counter, std::uint64_t value) noexcept {
    const std::uint64_t sum = layout::growth(*header(), counter, counter + value);
    add(counter, value);
    return sum;
  }
  /// Adds a record to the thread's list of them; kNoNodeIndex: there is no room.
  NodeIndex add_record(layout::EpochRecord values, std::uint64_t& sum) noexcept;
  template <typename Change>
  std::uint64_t change_record(NodeIndex unit, Change change) noexcept {
    auto& record = *at<layout::EpochRecord>(unit);
    const std::uint64_t before = layout::epoch_sum(unit, record);
    change(record);
    return layout::epoch_sum(unit, record) - before;
  }

  /// A frame of the path that is being inserted found no room. Until take_overflow() the rest of the path
  /// finds none either.
  void note_overflow() noexcept { overflowed_ = true; }
  [[nodiscard]] bool overflowed() const noexcept { return overflowed_; }
  bool take_overflow() noexcept { return std::exchange(overflowed_, false); }

 private:
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

  Arena arena_;
  std::uint32_t spare_ = 0;                  // a unit that aligning a cell left over; 0: none
  std::uint32_t asked_at_ = 0;               // the arena's limit when more room was asked for
  bool overflowed_ = false;                  // a frame of the sample being taken found no room
  std::atomic<bool> growth_refused_{false};  // there was no space when the flusher thread last tried
};

}  // namespace culprit::measurement
