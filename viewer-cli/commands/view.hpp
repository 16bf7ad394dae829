#pragma once

#include "request/command_line.hpp"
#include "text/screen.hpp"
#include "views/source.hpp"

#include <ostream>

namespace culprit::viewer {

/// The command view in all formats. Throws UsageError.
void run_view(std::ostream& out, const Screen& screen, const views::Source& source,
              const Invocation& invocation);

}  // namespace culprit::viewer
