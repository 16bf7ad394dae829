#pragma once

#include "measurement/copied_pages.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace culprit::measurement {

/// CLOCK_MONOTONIC. Async-signal-safe.
std::uint64_t monotonic_ns() noexcept;

/// The file under the live arenas: grows by blocks, each reserved on disk before it is mapped. It is opened
/// for each block and closed again, so that the program finds its descriptors as if it were not measured.
/// Where the file system does not serve shared mappings (or stores into them are no safe thing there), blocks
/// are anonymous memory which write_out() copies into the file. Every function is async-signal-safe; map()
/// may run in several threads at once, and beside any one other function. Has no destructor: it lives in
/// static memory and ends with the process.
class BlockFile {
 public:
  static constexpr std::size_t kPathSize = 4096;

  /// Creates `path` (copied; O_EXCL); `copied` asks for anonymous memory whatever the file system offers.
  /// Returns 0 or an errno.
  int create(const char* path, bool copied) noexcept;

  /// Appends `size` bytes (a multiple of the granule) to the file and maps them shared at `address`,
  /// replacing what is mapped there; they are zero, and the first `present` bytes are in memory. Returns 0 or
  /// an errno; the mapping at `address` is then as before.
  int map(void* address, std::uint64_t size, std::uint64_t present) noexcept;

  /// Keeps the file open for the calling thread, whose table of descriptors is its own: its later calls need
  /// neither a free descriptor nor the right to open the file. Returns 0 or an errno.
  int hold() noexcept;

  /// Whether blocks are copied; then write_out() brings the file up to date. Returns 0 or an errno.
  [[nodiscard]] bool copied() const noexcept { return copied_; }
  int write_out() noexcept;

  /// The file opened for the time of one use, for what is written rather than mapped.
  class Use {
   public:
    explicit Use(BlockFile& file) noexcept : file_(file), fd_(file.is_open() ? file.open_again() : -EBADF) {}
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use() {
      if (fd_ >= 0) file_.close_again(fd_);
    }
    /// The descriptor, or a negative errno.
    [[nodiscard]] int fd() const noexcept { return fd_; }

   private:
    BlockFile& file_;
    int fd_;
  };

  int rename(const char* new_path) noexcept;

  /// Ends the use of the file; `unlink_file` removes it as well.
  void close(bool unlink_file) noexcept;
  /// Frees what copying took. Nobody may use the file any more.
  void release() noexcept;

  [[nodiscard]] const char* path() const noexcept { return paths_[current_.load(std::memory_order_acquire)]; }
  /// What the file is known to have space for: up to the last block that was mapped.
  [[nodiscard]] std::uint64_t size() const noexcept { return mapped_.load(std::memory_order_acquire); }
  [[nodiscard]] bool is_open() const noexcept { return open_.load(std::memory_order_acquire); }

 private:
  int open_again() noexcept;
  int reserve(int fd, std::uint64_t offset, std::uint64_t size) noexcept;
  void close_again(int fd) const noexcept;
  int place(int fd, void* address, std::uint64_t offset, std::uint64_t size, std::uint64_t present) noexcept;
  [[nodiscard]] bool is_ours(int fd) const noexcept;

  std::atomic<bool> open_{false};
  bool copied_ = false;
  std::atomic<long> holder_{0};  // the thread that has the file open as held_
  int held_ = -1;
  std::atomic<std::uint64_t> end_{0};
  std::atomic<std::uint64_t> mapped_{0};
  std::atomic<std::uint64_t> ahead_{0};  // space that is there already: first granule << 32 | one behind
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  CopiedPages pages_;
  // The name, twice: other threads may open the file while it is renamed.
  std::atomic<unsigned> current_{0};
  char paths_[2][kPathSize] = {};
};

}  // namespace culprit::measurement
