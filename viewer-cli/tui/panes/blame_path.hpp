#pragma once

#include "database/contents.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace culprit::viewer::tui {

/// One step from idleness to what causes it.
struct BlameStep {
  std::optional<database::ContextId> context;  ///< where it leads; nothing where it ends here
  std::vector<std::uint32_t> locations;        ///< threads that work too much there
  std::string why;                             ///< for the user
};

/// From a context that waits to the deepest balanced context around it, which is charged for it; from a
/// balanced one to the suspect that explains most of its idleness, and from a suspect to the next.
BlameStep next_on_blame_path(const database::Contents& experiment, database::ContextId context);

/// Of contexts that share a row, the one that the path leads through: a suspect, else what suspects explain,
/// else the first. `contexts` holds one at least.
database::ContextId on_blame_path(const database::Contents& experiment,
                                  const std::vector<database::ContextId>& contexts);

}  // namespace culprit::viewer::tui
