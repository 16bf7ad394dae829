#pragma once

#include "request/command_line.hpp"
#include "text/screen.hpp"
#include "views/source.hpp"

#include <ostream>

namespace culprit::viewer {

/// The command hot-path in all formats: `{"metric","unit","path":[{"id","frame","value","share"}]}`.
void run_hot_path(std::ostream& out, const Screen& screen, const views::Source& source,
                  const Invocation& invocation);

}  // namespace culprit::viewer
