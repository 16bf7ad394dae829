#pragma once

#include "blame/excess.hpp"

#include <cstddef>

namespace culprit::blame {

/// Sets how sure it is that a suspect is to blame, and what is in doubt (docs/blame.md, "How sure").
/// `excess`: of the code; `culprits`: threads; `explained`: the share of the balanced scope's blame that all
/// its suspects explain together, 0 to 1.
void judge(database::Suspect& suspect, const Excess& excess, std::size_t culprits, double explained);

}  // namespace culprit::blame
