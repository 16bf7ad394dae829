#pragma once

#include "exchange/communicator.hpp"
#include "merge/attribution/attribute.hpp"
#include "merge/input/together.hpp"
#include "merge/timelines/time_lines.hpp"
#include "merge/values/shape.hpp"

#include <functional>

namespace culprit::merge {

struct Options;

/// What is made of a measurement's time lines. The attribution is rank 0's.
using UseTimeLines = std::function<void(const Attribution&, const Shape&, TimeLines&)>;

/// Collective: reads of the measurement `options.measurement` what call paths it has, and calls `use` with
/// the time lines of this rank, as merge() reads them; again where files were lost meanwhile. Writes nothing.
/// Throws as merge() does.
void read_time_lines(exchange::Communicator& comm, const Options& options, const Progress& progress,
                     const UseTimeLines& use);

}  // namespace culprit::merge
