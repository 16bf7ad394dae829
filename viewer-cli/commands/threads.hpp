#pragma once

#include "request/command_line.hpp"
#include "text/screen.hpp"
#include "views/source.hpp"

#include <ostream>
#include <vector>

namespace culprit::viewer {

/// The command threads: one node's value for every selected thread, in all formats. Throws UsageError and
/// CommandError.
void run_threads(std::ostream& out, const Screen& screen, const views::Source& source,
                 const Invocation& invocation);

/// Which values lie far from the rest: more than 3.5 robust standard deviations (from the median absolute
/// deviation) and more than 5 % away from the median.
std::vector<bool> find_outliers(const std::vector<double>& values);

}  // namespace culprit::viewer
