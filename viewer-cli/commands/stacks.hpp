#pragma once

#include "request/command_line.hpp"
#include "stacks/observation.hpp"
#include "text/screen.hpp"

#include <ostream>

namespace culprit::viewer {

/// `stacks`: looks at processes and writes where their threads are. Returns the exit status: 3 where some
/// processes could not be looked at, 1 where none could. Throws CommandError where there is nothing to look
/// at.
int run_stacks(std::ostream& out, const Screen& screen, const Invocation& invocation);

// The parts, for tests.
void write_stacks(std::ostream& out, const Screen& screen, const stacks::Observation& observation,
                  const Invocation& invocation);

}  // namespace culprit::viewer
