#pragma once

#include "measurement/block_file.hpp"
#include "measurement/limits.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace culprit::measurement {

/// A contiguous range of virtual memory that blocks of the file are mapped into one after the other, so that
/// a unit number is an address. Grown by one thread at a time, used by others meanwhile. Async-signal-safe
/// throughout.
class Arena {
 public:
  /// Reserves addresses for at most `bytes` (less where RLIMIT_AS is tight, at least `least`). Returns 0 or
  /// an errno.
  int reserve(std::uint64_t bytes, std::uint64_t least) noexcept;

  /// Appends a block of `bytes` (rounded to granules, cut to the reservation), the first `present` of them in
  /// memory. Returns 0 or an errno: ENOBUFS when the reservation is used up.
  int grow(BlockFile& file, std::uint32_t type, std::uint32_t index, std::uint64_t bytes,
           std::uint64_t present = ~std::uint64_t{0}) noexcept;

  /// Unmaps everything. Nobody may use the arena any more.
  void release() noexcept;

  /// Units that may be used: all below this number.
  [[nodiscard]] std::uint32_t limit() const noexcept { return limit_.load(std::memory_order_acquire); }
  [[nodiscard]] bool exhausted() const noexcept { return exhausted_.load(std::memory_order_relaxed); }

  /// The unit number at which `units` fit from `next` on without touching a reserved unit or crossing a
  /// granule.
  static std::uint32_t place(std::uint32_t next, std::uint32_t units) noexcept;

  template <typename T>
  [[nodiscard]] T* at(NodeIndex unit) const noexcept {
    return reinterpret_cast<T*>(base_ + static_cast<std::size_t>(unit) * 32);
  }

 private:
  std::byte* base_ = nullptr;
  std::atomic<std::uint32_t> limit_{0};
  std::uint32_t sequence_ = 0;
  std::uint64_t reserved_ = 0;
  std::atomic<bool> exhausted_{false};
};

}  // namespace culprit::measurement
