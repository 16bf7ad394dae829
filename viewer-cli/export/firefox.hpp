#pragma once

#include "export/time_lines.hpp"
#include "views/column.hpp"
#include "views/figures.hpp"

#include <ostream>

namespace culprit::viewer {

/// Firefox Profiler's processed profile format, version 48: each thread with its samples, their weights, and
/// its waits as markers. Holds one thread's samples and waits at a time.
void write_firefox(std::ostream& out, const RunLines& lines);

/// The same where there are no time lines: a sample per context with all its weight, one after the other in
/// the order of the tree, so times mean nothing.
void write_firefox_profile(std::ostream& out, const views::Figures& figures, const views::Column& column);

}  // namespace culprit::viewer
