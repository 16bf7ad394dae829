#pragma once

#include "measurement/measurement.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace culprit::bench {

/// The shape of the trees that a model makes.
struct ModelShape {
  std::size_t nodes = 0;  ///< of each thread's tree, about
  std::size_t depth = 60;
  double own_share = 0.1;  ///< the part of a tree that only its group has
};

/// One thread of one group of ranks: a core tree that all groups share, less a few subtrees, and subtrees of
/// the group's own. Frames are those of `source`, so that structure, names and rules apply as in a real
/// program; waits are copied whole from the frame that waits down to the sample. Workers hang below <thread
/// root>, the main thread below <program root>. The same arguments give the same tree.
measurement::ThreadProfile model_thread(const measurement::Measurement& source, const ModelShape& shape,
                                        std::size_t group, bool worker);

}  // namespace culprit::bench
