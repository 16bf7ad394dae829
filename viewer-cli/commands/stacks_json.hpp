#pragma once

#include "stacks/observation.hpp"
#include "text/frame_json.hpp"

#include <string>

namespace culprit::viewer {

/// All of an observation: the prefix tree with a node for each function and line, and each thread's path in
/// each look.
Json stacks_json(const stacks::Observation& observation);

/// What stacks_json() gave, as text, out of what a program on another host wrote: text may stand around it.
/// Throws std::runtime_error where there is none.
stacks::Observation read_stacks(const std::string& text);

}  // namespace culprit::viewer
