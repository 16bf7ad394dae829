#pragma once

#include "cct/tree_union.hpp"
#include "measurement/measurement.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace culprit::merge {

/// Takes frames of the sampler's own libraries out of every tree (docs/algorithms.md 1: they never appear):
/// their children and values go to the nearest frame outside. The runtime already drops them; this holds for
/// any measurement.
void drop_own_frames(measurement::Measurement& file);

/// The cell of `node`; made if it has none yet.
measurement::Cell& cell_of(measurement::ThreadProfile& thread, cct::NodeId node, std::size_t events);

/// The load modules of one file after the other, as ids of a union of trees. Most files name the same ones as
/// the file before: only where they do not are they looked up. Not thread-safe.
class FileModules {
 public:
  /// The ids of the file's modules in `tree`, always the same union; valid until the next call.
  std::span<const cct::ModuleId> of(const measurement::Measurement& file, cct::TreeUnion& tree) {
    if (!std::ranges::equal(file.modules, keys_, {}, &measurement::Module::key)) {
      keys_.clear();
      for (const measurement::Module& module : file.modules) keys_.push_back(module.key);
      ids_ = tree.add_modules(keys_);
    }
    return ids_;
  }

 private:
  std::vector<cct::ModuleKey> keys_;
  std::vector<cct::ModuleId> ids_;
};

}  // namespace culprit::merge
