#pragma once

#include "exchange/communicator.hpp"
#include "merge/merge.hpp"

#include <algorithm>
#include <cstdint>

namespace culprit::merge {

/// Counts the steps of one phase and tells rank 0's observer. The total is rank 0's share.
class Phase {
 public:
  /// `progress` must outlive this.
  Phase(const exchange::Communicator& comm, const Progress& progress, const char* name, std::uint64_t total)
      : progress_(comm.rank() == 0 && progress ? &progress : nullptr), name_(name), total_(total) {
    if (progress_ != nullptr) (*progress_)(name_, 0, total_);
  }

  void step() {
    ++done_;
    if (progress_ != nullptr) (*progress_)(name_, std::min(done_, total_), total_);
  }

 private:
  const Progress* progress_;
  const char* name_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
};

}  // namespace culprit::merge
