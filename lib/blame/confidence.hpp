#pragma once

#include "blame/excess.hpp"
#include "database/database.hpp"

#include <cstddef>
#include <span>

namespace culprit::blame {

/// Sets how sure it is that a suspect is to blame, and what is in doubt. `excess`: of the code; `culprits`:
/// which of the late threads; `explained`: the share of the balanced scope's blame that all its suspects
/// explain together, 0 to 1.
void judge(database::Suspect& suspect, const Excess& excess, const Late& late,
           std::span<const std::size_t> culprits, double explained);

}  // namespace culprit::blame
