#pragma once

#include "measurement/input_file.hpp"
#include "measurement/live_layout.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace culprit::measurement {

/// One block of a live file, as its header describes it.
struct Block {
  std::uint32_t sequence = 0;
  std::uint64_t offset = 0;     ///< in the file
  std::uint64_t size = 0;       ///< as its header says
  std::uint64_t available = 0;  ///< how much of that the file still has
};

/// The blocks of a live file by the arena that they belong to, in sequence from 0 without a gap.
struct BlockMap {
  std::vector<Block> modules, calls;
  std::map<std::uint32_t, std::vector<Block>> threads;  // by arena index
};

/// Finds the blocks. Granules that hold none are skipped, as are blocks of unknown type. Throws where the
/// header of one is damaged.
BlockMap find_blocks(InputFile& file);

/// An arena in memory: whatever is left of its blocks, one after the other.
class ArenaImage {
 public:
  ArenaImage() = default;
  /// Copies blocks until one is incomplete (that one up to its end).
  ArenaImage(const InputFile& file, std::span<const Block> blocks) { fill(file, blocks, UINT64_MAX); }

  /// The same, of the first `most` bytes, into the memory of the image before.
  void fill(const InputFile& file, std::span<const Block> blocks, std::uint64_t most);

  [[nodiscard]] std::uint32_t units() const { return units_; }

  /// Whether `count` units from `unit` on are there and may have been allocated.
  [[nodiscard]] bool holds(std::uint32_t unit, std::uint32_t count) const {
    const std::uint32_t within = unit % layout::kGranuleUnits;
    return unit < units_ && count <= units_ - unit && within >= layout::kReservedUnits &&
           within + count <= layout::kGranuleUnits;
  }

  /// A copy of the object at `unit`. Precondition: holds() for its size.
  template <typename T>
  [[nodiscard]] T load(std::uint32_t unit, std::size_t byte_offset = 0) const {
    T object;
    std::memcpy(&object, at(unit, byte_offset), sizeof object);
    return object;
  }

  [[nodiscard]] const std::byte* at(std::uint32_t unit, std::size_t byte_offset = 0) const {
    return bytes_.get() + std::size_t{unit} * layout::kUnit + byte_offset;
  }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::uint64_t capacity_ = 0;
  std::uint32_t units_ = 0;
};

}  // namespace culprit::measurement
