#pragma once

#include "views/column.hpp"
#include "views/figures.hpp"

#include <ostream>
#include <string_view>

namespace culprit::viewer {

/// pprof's profile, compressed as gzip: one sample per thread and context with the values of all metrics that
/// threads have, labelled by rank, thread and role. `column` is the metric that pprof shows first. Loops are
/// left out (lines have the place), inlined procedures are kept. Throws CommandError where the profile is too
/// large for its format.
void write_pprof(std::ostream& out, const views::Figures& figures, const views::Column& column);

/// Writes `bytes` compressed as a gzip file. The same bytes give the same file: it holds no time and no name.
void write_gzip(std::ostream& out, std::string_view bytes);

}  // namespace culprit::viewer
