#pragma once

#include "database/database.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace culprit::viewer::tui {

/// Where a link leads.
struct Target {
  enum class Kind : std::uint8_t { context, flat, time, finding };

  Kind kind = Kind::context;
  std::uint32_t scope = 0;               ///< ContextId, FlatId, or which finding (Findings)
  std::vector<std::uint32_t> locations;  ///< to mark among the ranks
  std::int32_t rank = -1;                ///< time
  std::uint32_t segment = 0, level = 0;  ///< time
  std::string metric;                    ///< to sort by; empty: as it is
};

}  // namespace culprit::viewer::tui
