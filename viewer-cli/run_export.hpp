#pragma once

#include "request/command_line.hpp"
#include "views/source.hpp"

#include <ostream>

namespace culprit::viewer {

/// The command export: writes to the file of -o (under a temporary name, then renamed), else to `out`. False
/// where it left out time lines that could not be read to their ends, of which standard error says which.
/// Throws CommandError where the file cannot be written.
bool run_export(std::ostream& out, const views::Source& source, const Invocation& invocation);

}  // namespace culprit::viewer
