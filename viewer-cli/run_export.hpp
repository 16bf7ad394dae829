#pragma once

#include "request/command_line.hpp"
#include "views/source.hpp"

#include <ostream>

namespace culprit::viewer {

/// The command export: writes to the file of -o (under a temporary name, then renamed), else to `out`. Throws
/// CommandError where the file cannot be written.
void run_export(std::ostream& out, const views::Source& source, const Invocation& invocation);

}  // namespace culprit::viewer
