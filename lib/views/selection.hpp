#pragma once

#include "database/contents.hpp"
#include "views/source.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace culprit::views {

/// Summaries over some of the locations only, formed from their per-thread values exactly as merging forms
/// those over all (docs/algorithms.md 2, 3, 4).
struct Selection {
  std::vector<database::Summary> contexts, flat;  ///< one per (role, metric) asked for
  std::vector<std::uint64_t> threads;             ///< T per role, of the selected locations
};

/// Reads the profiles of `locations`; `metrics` are indices of the experiment's metrics (those that exist
/// only as a summary are left out). May throw database::DatabaseError.
Selection summarise(const Source& source, std::span<const std::uint32_t> locations,
                    std::span<const std::uint32_t> metrics);

}  // namespace culprit::views
