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

/// The scope whose exclusive value a statement's cost is, besides the statement's own and its procedure's:
/// the one it stands in directly (docs/algorithms.md 3). For other contexts the context itself.
database::ContextId owner_of(const database::Contents& experiment, database::ContextId context);

/// The procedure frame at or above `context`, kNone where there is none.
database::ContextId procedure_of(const database::Contents& experiment, database::ContextId context);

}  // namespace culprit::views
