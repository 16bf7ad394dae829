#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

// When the locks of a window were given back: in memory that the processes of the window share where all of
// them are on one host, so that who waited for a lock can tell at once, and exactly, until when another
// process held it. The table has the same size however long the run.
namespace culprit::mpi {

/// A process was about to give a lock back (the enter of its MPI_Win_unlock).
struct LockRelease {
  std::uint64_t at_ns;  ///< CLOCK_MONOTONIC; 0: none
  int by;               ///< rank in MPI_COMM_WORLD
};

/// The table of one window, as one process sees it. Not copied; all zero is one that is not there. One thread
/// makes and leaves it; released() and find() are for all threads.
class LockReleases {
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

  /// Whether all of the window's processes have the table: if not, it tells nothing.
  [[nodiscard]] bool shared() const {
    return table_ != nullptr && table_->joined.load(std::memory_order_relaxed) == table_->size;
  }
  /// A lock on the target, a rank of the window, is about to be given back.
  void released(int target, bool exclusive, const LockRelease& release);
  /// The last release between two times, of locks that exclude the own one.
  [[nodiscard]] LockRelease last(int target, bool exclusive, std::uint64_t after_ns,
                                 std::uint64_t before_ns) const;

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
    Releases exclusive, shared;
  };
  struct alignas(64) Table {  // the targets follow
    std::uint32_t size;
    std::atomic<std::uint32_t> joined;
    Target& operator[](int target) { return reinterpret_cast<Target*>(this + 1)[target]; }
  };
  /// Processes of a window; those of one host are fewer. 64 KiB.
  static constexpr std::uint32_t kMostProcesses = 512;

  static std::size_t bytes(std::uint32_t size) { return sizeof(Table) + size * sizeof(Target); }
  bool map(int descriptor, std::uint32_t size);
  static void find_last(const Releases& releases, std::uint64_t after_ns, std::uint64_t before_ns,
                        LockRelease& last);

  Table* table_;
  int descriptor_;  ///< + 1
};

}  // namespace culprit::mpi
