#pragma once

#include "structure/structure.hpp"

#include <vector>

namespace culprit::structure {

/// The structure around the addresses of all parts of one module, whose requests asked for consecutive runs
/// of its addresses, in this order. Procedures and scopes that parts share become one.
ModuleStructure combine(std::vector<ModuleStructure> parts);

}  // namespace culprit::structure
