#pragma once

#include "views/column.hpp"
#include "views/figures.hpp"

#include <ostream>

namespace culprit::viewer {

/// pprof's profile, compressed as gzip: one sample per thread and context with the values of all metrics that
/// threads have, labelled by rank, thread and role. `column` is the metric that pprof shows first. Loops are
/// left out (lines tell the place), inlined procedures are kept. Throws CommandError where the profile is too
/// large for its format.
void write_pprof(std::ostream& out, const views::Figures& figures, const views::Column& column);

}  // namespace culprit::viewer
