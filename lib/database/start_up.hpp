#pragma once

#include "database/database.hpp"

#include <cstdint>
#include <vector>

namespace culprit::database {

/// By context: its flags, and kStartUp where it holds. A stripped program's `_start` is known by its place
/// below the root.
std::vector<std::uint8_t> flags_with_start_up(const Experiment& experiment);

}  // namespace culprit::database
