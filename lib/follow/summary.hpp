#pragma once

#include "follow/iterations.hpp"
#include "follow/part.hpp"
#include "follow/sums.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace culprit::follow {

struct Summary {
  double run_s = 0;  ///< since the first process started
  Part interval, whole;
  std::optional<IterationRate> iterations;
  std::string iterations_at;  ///< where they are inferred: the call
};

/// What is known of a process beside its times.
struct ProcessLabel {
  std::int32_t rank = -1;
  std::string process;
  bool ended = false, silent = false;
};

/// Makes a part of sums over `seconds`. `processes` in the order of the sums' numbers.
Part summarize(const Sums& sums, const std::vector<ProcessLabel>& processes, const LiveTree& tree,
               double seconds);

}  // namespace culprit::follow
