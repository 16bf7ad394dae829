#pragma once

#include "commands/html/packed_values.hpp"
#include "commands/html/page_tree.hpp"

#include <cstddef>

namespace culprit::viewer {

/// The maps of ranks over time: waiting, time in MPI calls, code, the patterns with most waiting, and the
/// segments of `variation`. Maps larger than `lines` x `wide` are made coarser: a cell has the mean over its
/// columns, of several ranks the largest; of code the one with most bins. Null without a trace.
Json time_maps(const database::Contents& experiment, const PageTree& calls, PageTexts& texts,
               std::size_t lines, std::size_t wide);

}  // namespace culprit::viewer
