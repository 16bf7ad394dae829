#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace culprit::measurement {

/// The file under the live arenas: grows by blocks, each reserved on disk before it is mapped. Every function
/// is async-signal-safe; map() may run in several threads at once, the others may not. Has no destructor: it
/// lives in static memory and ends with the process.
class BlockFile {
 public:
  static constexpr std::size_t kPathSize = 4096;

  /// Creates `path` (copied; O_EXCL). Returns 0 or an errno.
  int create(const char* path) noexcept;

  /// Appends `size` bytes (a multiple of the granule) to the file and maps them shared at `address`,
  /// replacing what is mapped there; their pages are present and zero. Returns 0 or an errno; the mapping at
  /// `address` is then as before.
  int map(void* address, std::uint64_t size) noexcept;

  int rename(const char* new_path) noexcept;

  /// Closes the descriptor; `unlink_file` removes the file as well (if it is still ours).
  void close(bool unlink_file) noexcept;

  [[nodiscard]] const char* path() const noexcept { return path_; }
  [[nodiscard]] bool is_open() const noexcept { return open_.load(std::memory_order_acquire); }

  /// Gives the descriptor up for the moment (the process is short of them); the next map() opens the file
  /// again.
  void give_up_descriptor() noexcept;

 private:
  int descriptor() noexcept;
  [[nodiscard]] bool is_ours(int fd) const noexcept;

  std::atomic<bool> open_{false};
  std::atomic<int> fd_{-1};
  std::atomic<std::uint64_t> end_{0};
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  char path_[kPathSize] = {};
};

}  // namespace culprit::measurement
