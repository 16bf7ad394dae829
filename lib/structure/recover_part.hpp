#pragma once

#include "structure/code_map.hpp"
#include "structure/function_bounds.hpp"
#include "structure/module.hpp"
#include "structure/structure.hpp"

namespace culprit::structure {

/// The structure around the addresses of `request` in `module`. `bounds` may be those of another handle on
/// the same file and may serve several threads at once; `module` serves one.
ModuleStructure recover_part(const Request& request, const Module& module, const FunctionBounds& bounds);

/// The same of all addresses of the functions that hold those of `request`.
CodeMap map_part(const Request& request, const Module& module, const FunctionBounds& bounds);

}  // namespace culprit::structure
