#pragma once

#include "measurement/measurement.hpp"

namespace culprit::merge {

/// Takes frames of the sampler's own libraries out of every tree (docs/algorithms.md 1: they never appear):
/// their children and values go to the nearest frame outside. The runtime already drops them; this holds for
/// any measurement.
void drop_own_frames(measurement::Measurement& file);

/// The cell of `node`; made if it has none yet.
measurement::Cell& cell_of(measurement::ThreadProfile& thread, cct::NodeId node, std::size_t events);

}  // namespace culprit::merge
