#pragma once

#include "structure/subprograms.hpp"

#include <cstdint>
#include <vector>

namespace culprit::structure {

/// Which inlined instance an address of one procedure belongs to: the innermost whose ranges hold it.
class InlineMap {
 public:
  explicit InlineMap(const std::vector<Inlined>& inlined);
  /// Index of the instance, kNone: the procedure itself.
  [[nodiscard]] std::uint32_t find(std::uint64_t address) const;
  /// The instance and those around it, outermost first.
  [[nodiscard]] std::vector<std::uint32_t> chain(std::uint32_t instance) const;
  /// Whether `inner` is `outer` or lies in it; kNone, the procedure, holds everything.
  [[nodiscard]] bool within(std::uint32_t inner, std::uint32_t outer) const;

 private:
  const std::vector<Inlined>& inlined_;
  std::vector<std::uint64_t> starts_;     // ascending; segment i ends where i + 1 starts
  std::vector<std::uint32_t> instances_;  // of each segment
};

}  // namespace culprit::structure
