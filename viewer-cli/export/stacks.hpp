#pragma once

#include "views/column.hpp"
#include "views/figures.hpp"

#include <ostream>

namespace culprit::viewer {

/// Collapsed stacks for flame graphs: per location and context one line `location;frame;frame count`. Times
/// are whole microseconds (readers take integers only), other metrics their own unit; zeros are left out.
void write_collapsed(std::ostream& out, const views::Figures& figures, const views::Column& column);

/// speedscope's JSON file format: one sampled profile per location that has any of
/// the metric. Throws CommandError where numbers exceed what its readers can hold.
void write_speedscope(std::ostream& out, const views::Figures& figures, const views::Column& column);

}  // namespace culprit::viewer
