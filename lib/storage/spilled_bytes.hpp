#pragma once

#include "storage/spill.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace culprit::storage {

/// Bytes one after the other in the blocks of a Spill, which must outlive it: most of them outside memory,
/// however many there are. Members throw SpillError.
class SpilledBytes {
 public:
  explicit SpilledBytes(Spill& spill) : spill_(&spill) {}
  SpilledBytes(SpilledBytes&& other) noexcept
      : spill_(other.spill_),
        blocks_(std::exchange(other.blocks_, {})),
        size_(std::exchange(other.size_, 0)) {}
  SpilledBytes& operator=(SpilledBytes&& other) noexcept {
    std::swap(spill_, other.spill_);
    std::swap(blocks_, other.blocks_);
    std::swap(size_, other.size_);
    return *this;
  }
  SpilledBytes(const SpilledBytes&) = delete;
  SpilledBytes& operator=(const SpilledBytes&) = delete;
  ~SpilledBytes() {
    for (const Spill::Block block : blocks_) spill_->release(block);
  }

  [[nodiscard]] std::uint64_t size() const { return size_; }

  void append(std::span<const std::byte> bytes);
  /// Fills `into` with the bytes from `at` on, which must be there.
  void read(std::uint64_t at, std::span<std::byte> into) const;

 private:
  Spill* spill_;
  std::vector<Spill::Block> blocks_;
  std::uint64_t size_ = 0;
};

}  // namespace culprit::storage
