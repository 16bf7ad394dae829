#pragma once

#include "database/database.hpp"

#include <functional>

namespace culprit::database {

/// Calls `visit` for each of some locations, in their order; may be called again. For those that are too many
/// to be held in memory at once.
using EachLocation = std::function<void(const std::function<void(const Location&)>& visit)>;

}  // namespace culprit::database
