#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

// When a process of a window let others go on, gave a lock back or opened its memory: in memory that the
// processes of the window share where all of them are on one host, so that who waited knows at once, and
// exactly, until when. The table has the same size however long the run.
namespace culprit::mpi {

/// The enter of a call that lets others go on.
struct Release {
  std::uint64_t at_ns;  ///< CLOCK_MONOTONIC; 0: none
  int by;               ///< rank in MPI_COMM_WORLD
};

/// The table of one window, as one process sees it. Not copied; all zero is one that is not there. One thread
/// makes and leaves it; the others are for all threads.
class WindowReleases {
 public:
  /// What the others need to find the table of the one that made it.
  struct Invitation {
    std::uint64_t process, descriptor, name;
  };

  /// Makes a table for the window's `size` processes; of zeros where there can be none. Its descriptor is
  /// open until close().
  Invitation make(std::uint32_t size);
  /// Finds the one that another process invites to. Without effect where it cannot be reached: on another
  /// host, behind the walls of a container.
  void join(const Invitation& invitation, std::uint32_t size);
  /// Nobody comes any more: gives back the descriptor of the one that made it.
  void close();
  /// The window is gone.
  void leave();

  /// Whether all of the window's processes have the table: if not, it says nothing.
  [[nodiscard]] bool shared() const {
    return table_ != nullptr && table_->joined.load(std::memory_order_relaxed) == table_->size;
  }
  /// A lock on the target, a rank of the window, is about to be given back.
  void lock_released(int target, bool exclusive, const Release& release);
  /// The last between two times, of locks that exclude the own one.
  [[nodiscard]] Release last_lock(int target, bool exclusive, std::uint64_t after_ns,
                                  std::uint64_t before_ns) const;
  /// The target, a rank of the window, is about to post. Whom for is all the same: it posts for others only
  /// when those whom it posted for before have completed.
  void posted(int target, const Release& release);
  [[nodiscard]] Release last_post(int target, std::uint64_t after_ns, std::uint64_t before_ns) const;

 private:
  /// The last few: one that comes after what is looked for must not hide it, as that of a process which
  /// began to give its lock back before it had it.
  static constexpr std::uint32_t kRemembered = 4;
  struct alignas(64) Releases {
    std::atomic<std::uint32_t> count;
    std::atomic<std::int32_t> by[kRemembered];
    std::atomic<std::uint64_t> at_ns[kRemembered];
  };
  struct Target {
    Releases exclusive, shared, posts;
  };
  struct alignas(64) Table {  // the targets follow
    std::uint32_t size;
    std::atomic<std::uint32_t> joined;
    Target& operator[](int target) { return reinterpret_cast<Target*>(this + 1)[target]; }
  };
  /// Processes of a window; those of one host are fewer. 96 KiB.
  static constexpr std::uint32_t kMostProcesses = 512;

  static std::size_t bytes(std::uint32_t size) { return sizeof(Table) + size * sizeof(Target); }
  bool map(int descriptor, std::uint32_t size);
  static void add(Releases& releases, const Release& release);
  static void find_last(const Releases& releases, std::uint64_t after_ns, std::uint64_t before_ns,
                        Release& last);

  Table* table_;
  int descriptor_;  ///< + 1
};

}  // namespace culprit::mpi
