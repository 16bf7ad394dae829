#pragma once

#include "stacks/job.hpp"
#include "stacks/observation.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace culprit::stacks {

struct Options {
  std::size_t looks = 3;
  double every_s = 0.3;
};

/// Looks at processes several times and attributes what it saw. Needs no preparation of them, and leaves them
/// as they were (held_threads.hpp). Nothing is said of processes that ended before the first look.
Observation look(const std::vector<Target>& targets, const Options& options);

}  // namespace culprit::stacks
