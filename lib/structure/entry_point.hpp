#pragma once

#include "structure/symbols.hpp"

#include <vector>

namespace culprit::structure {

/// What an executable tells without any symbol: where it starts (`_start`), and what its start code hands to
/// the C library as the program's `main`. Sizes are unknown. Empty for shared objects without an entry point
/// of that form.
std::vector<Symbol> entry_symbols(const Module& module);

}  // namespace culprit::structure
