#pragma once

#include "role_fixture.hpp"

#include <functional>
#include <random>
#include <vector>

namespace culprit::blame {

/// A part of an iteration: a leaf of the tree and how long one thread spends there on average.
struct SimulatedPart {
  database::ContextId leaf = 0;
  std::function<double(std::uint32_t thread)> seconds;
};

/// An iterative program whose threads meet in a collective at the end of each iteration, sampled with a
/// jittered period and a random phase per thread.
struct Simulation {
  std::uint32_t threads = 8;
  int iterations = 400;
  std::vector<SimulatedPart> parts;
  database::ContextId wait = 0;  ///< leaf below the collective
  double collective_s = 20e-6;   ///< least time in the collective
  double natural = 0.02;         ///< standard deviation of one part's duration, relative
  double drift = 0;              ///< standard deviation of a thread's speed over the whole run, relative
  double period_s = 0.005;
  double period_jitter = 0.1;  ///< uniform, ± this share of the period

  /// Runs it and returns the idleness that the program itself would log, in seconds over all threads.
  double run(RoleFixture& into, std::mt19937_64& random) const;
};

}  // namespace culprit::blame
