#pragma once

#include "structure/module.hpp"

#include <cstdint>
#include <vector>

namespace culprit::structure {

/// A function's bounds as its frame description entry in .eh_frame states them.
struct Frame {
  Range range;
  std::uint64_t handlers = 0;  ///< address of its language-specific data (landing pads), 0 where it has none
};

/// All function bounds of .eh_frame, in ascending order of address, one per start. Damaged entries are left
/// out.
class Frames {
 public:
  explicit Frames(const Module& module);
  /// The entry that covers `address`, null where none does.
  [[nodiscard]] const Frame* find(std::uint64_t address) const;

 private:
  std::vector<Frame> frames_;
};

}  // namespace culprit::structure
