#pragma once

#include "request/command_line.hpp"
#include "text/screen.hpp"
#include "views/source.hpp"

#include <ostream>

namespace culprit::viewer {

/// The command diff: two runs compared, in all formats. json: `{"metric","nodes":[{"path","a","b","change",
/// "ratio","scaling_loss"}]}`, the largest change first. Throws UsageError, or what the sources throw.
void run_diff(std::ostream& out, const Screen& screen, const views::Source& first,
              const views::Source& second, const Invocation& invocation);

}  // namespace culprit::viewer
