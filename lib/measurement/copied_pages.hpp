#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace culprit::measurement {

/// Anonymous memory that stands for parts of a file which cannot be mapped; write_out() copies what changed.
/// add() may run in several threads at once and is async-signal-safe; write_out() runs in one at a time. Has
/// no destructor, as BlockFile.
class CopiedPages {
 public:
  /// Registers `size` bytes (a multiple of the granule) at `address`, which belong at `offset` of the file.
  /// Returns 0 or an errno: ENOBUFS when kMaxGranules are registered.
  int add(std::byte* address, std::uint64_t size, std::uint64_t offset) noexcept;

  /// Writes all pages that changed since they were written last, the file's last first: links lead from older
  /// pages to newer ones, so that a copy holds what its links lead to. Returns 0 or the first errno; what
  /// could not be written is tried again the next time.
  int write_out(int fd) noexcept;

  void release() noexcept;

 private:
  struct Granule;

  static int write_granule(int fd, Granule& granule) noexcept;

  std::atomic<Granule*> granules_{nullptr};
  std::atomic<std::uint32_t> count_{0};
};

}  // namespace culprit::measurement
