#pragma once

#include "request/command_line.hpp"
#include "text/screen.hpp"
#include "views/source.hpp"

#include <ostream>

namespace culprit::viewer {

/// Runs one command on an opened database and writes its whole output, all text of it by print/output.hpp;
/// `other` is the second one, which diff needs. Throws UsageError, CommandError, or what the source throws.
void run_command(std::ostream& out, const Screen& screen, const views::Source& source,
                 const Invocation& invocation, const views::Source* other = nullptr);

}  // namespace culprit::viewer
