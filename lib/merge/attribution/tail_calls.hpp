#pragma once

#include "cct/canonical.hpp"
#include "merge/attribution/recover_structure.hpp"
#include "structure/structure.hpp"

namespace culprit::merge {

/// Finds the functions that left their frames to what was found below a call (RecoveredStructure::jumps), and
/// adds their structure. All requests are like `common`.
void find_tail_calls(const cct::SharedTree& shared, const structure::Request& common,
                     RecoveredStructure& structure);

}  // namespace culprit::merge
