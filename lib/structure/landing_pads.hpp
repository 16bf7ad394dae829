#pragma once

#include "structure/flow_graph.hpp"
#include "structure/frames.hpp"
#include "structure/module.hpp"

#include <vector>

namespace culprit::structure {

/// The exception handlers and clean-ups of one function's code, from its language-specific data (the
/// call-site table that gcc and clang write for C++, Fortran and Ada). Damaged tables end early.
std::vector<Handler> landing_pads(const Module& module, const Frame& frame);

}  // namespace culprit::structure
