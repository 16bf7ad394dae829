#pragma once

#include "measurement/block_file.hpp"
#include "measurement/limits.hpp"
#include "measurement/thread_tree.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace culprit::measurement {

/// The trees of one file by their index, in memory that is mapped some at a time and costs nothing until it
/// is used. Nothing moves; any thread may look up what was made. Async-signal-safe throughout.
class TreeTable {
 public:
  /// Begins with no trees. Their memory was released, or is new.
  void start(const TreeShape& shape) noexcept;

  /// Makes a tree for one more thread. Null and an errno in `error`: there is no room for it.
  ThreadTree* create(BlockFile& file, bool main, int& error) noexcept;

  /// Gives the thread the tree of an ended one with this start routine, if there are more than `spared` of
  /// them; else null.
  ThreadTree* take_over(std::uint64_t tid, cct::FrameKey routine, std::uint64_t start_ns,
                        std::uint32_t spared) noexcept;

  /// A tree that maintain() made for a thread which was short of descriptors; null where there is none, and
  /// none is made before want_spares().
  ThreadTree* take_spare() noexcept;
  void want_spares() noexcept { spares_wanted_.store(true, std::memory_order_release); }
  /// Whether maintain() is asked to.
  [[nodiscard]] bool makes_spares() const noexcept { return spares_wanted_.load(std::memory_order_acquire); }

  /// Growth ahead of use, and the spares. Returns 0 or the errno of a growth that failed.
  int maintain(BlockFile& file) noexcept;

  /// Nothing may be recorded in any of them from here on.
  void close() noexcept;
  /// Unmaps all of them.
  void release() noexcept;

  /// How many were made, with those that found no room: at() is null for them.
  [[nodiscard]] std::uint32_t count() const noexcept { return count_.load(std::memory_order_acquire); }
  [[nodiscard]] ThreadTree* at(std::size_t index) const noexcept;

 private:
  void* provide(std::uint32_t index) noexcept;
  void provide_spares(BlockFile& file) noexcept;
  [[nodiscard]] ThreadTree& operator[](std::uint32_t index) const noexcept {
    return parts_[index / kPart].load(std::memory_order_acquire)[index % kPart];
  }

  static constexpr std::uint32_t kPart = 128;
  static constexpr std::size_t kSpares = 32;  // made per turn
  std::atomic<ThreadTree*> parts_[kMaxThreads / kPart] = {};
  TreeShape shape_;
  std::atomic<std::uint32_t> count_{0};
  std::atomic<std::uint32_t> ended_{0};
  std::atomic<std::uint32_t> taken_over_{0};  // the place of the last one that was: the next may be behind it
  std::atomic<bool> spares_wanted_{false};
  std::atomic<ThreadTree*> spares_[kSpares] = {};
};

}  // namespace culprit::measurement
