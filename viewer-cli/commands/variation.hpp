#pragma once

#include "commands/table.hpp"
#include "text/screen.hpp"

#include <ostream>

// Variation over time (`variation`): how long the same thing took, over ranks and invocations.
namespace culprit::viewer {

/// The `finer`-th level; where nothing but named procedures was segmented, the first of those. Throws
/// UsageError where there are fewer levels.
const database::Variation& variation_of(const database::Contents& experiment, std::uint32_t finer);
/// Of the procedure with this name, with or without parameters. Throws UsageError, which names those that
/// there are, where it is none of them.
const database::Variation& variation_of(const database::Contents& experiment, const std::string& procedure);

/// `metric`: shown by that one instead of the time (JSON: beside it); empty: none. Throw UsageError where
/// there is no such metric.
Json variation_json(const database::Contents& experiment, const database::Variation& variation,
                    const std::string& metric);
void write_variation(std::ostream& out, const Screen& screen, const database::Contents& experiment,
                     const database::Variation& variation, const std::string& metric);
/// A row per rank and segment: when it began, its time, all metrics, and the paths of what is unusual.
Table segments_table(const database::Contents& experiment, const database::Variation& variation);

}  // namespace culprit::viewer
