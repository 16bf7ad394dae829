#pragma once

#include <cstdint>
#include <vector>

namespace culprit::waits {

/// The united tree, as far as variation over time needs it.
struct CallPaths {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::vector<std::uint32_t> parent;  ///< by context; kNone at the root. Parents come before their children
  std::vector<std::uint32_t>
      procedure;  ///< by context: which procedure's frame it is, over all call paths; or kNone
};

}  // namespace culprit::waits
