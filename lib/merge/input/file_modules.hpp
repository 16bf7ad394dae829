#pragma once

#include "cct/tree_union.hpp"
#include "measurement/measurement.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace culprit::merge {

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
