#pragma once

#include "request/command_line.hpp"
#include "text/screen.hpp"
#include "views/source.hpp"

#include <ostream>
#include <vector>

namespace culprit::viewer {

/// Runs one command but export on an opened database and writes its whole output, all text of it by
/// print/output.hpp; `other` is the second one, which diff needs. Throws UsageError, CommandError, or what
/// the source throws.
void run_command(std::ostream& out, const Screen& screen, const views::Source& source,
                 const Invocation& invocation, const views::Source* other = nullptr);

/// The command view in all formats. Throws UsageError.
void run_view(std::ostream& out, const Screen& screen, const views::Source& source,
              const Invocation& invocation);

/// The command hot-path in all formats: `{"metric","unit","path":[{"id","frame","value","share"}]}`.
void run_hot_path(std::ostream& out, const Screen& screen, const views::Source& source,
                  const Invocation& invocation);

/// The command threads: one node's value for every selected thread, in all formats. Throws UsageError and
/// CommandError.
void run_threads(std::ostream& out, const Screen& screen, const views::Source& source,
                 const Invocation& invocation);

/// Which values lie far from the rest: more than 3.5 robust standard deviations (from the median absolute
/// deviation) and more than 5 % away from the median.
std::vector<bool> find_outliers(const std::vector<double>& values);

/// The command diff: two runs compared, in all formats. json: `{"metric","nodes":[{"path","a","b","change",
/// "ratio","scaling_loss"}]}`, the largest change first. Throws UsageError, or what the sources throw.
void run_diff(std::ostream& out, const Screen& screen, const views::Source& first,
              const views::Source& second, const Invocation& invocation);

}  // namespace culprit::viewer
