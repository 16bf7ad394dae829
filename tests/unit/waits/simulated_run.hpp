#pragma once

#include "scripted_run.hpp"

#include <cstdint>
#include <vector>

namespace culprit::waits::testing {

/// A run of random communication that a simulation carried out, which therefore knows every wait: a rank
/// waits from its enter until what it needs has been entered, and its call ends a little later.
struct SimulatedRun {
  ScriptedRun run;
  std::vector<FoundWait> waits;  // sorted; wrong order, late complete and completions left out
};

/// The same for the same seed. No deadlock: ranks communicate in one order that all keep to.
SimulatedRun simulate(std::uint64_t seed, std::int32_t ranks, int steps);

}  // namespace culprit::waits::testing
