#pragma once

#include "waits/states/matching_pass.hpp"
#include "waits/timeline/dependencies.hpp"
#include "waits/timeline/rank_map.hpp"

#include <cstdint>
#include <vector>

namespace culprit::waits {

/// A call as it is replayed.
struct Step {
  std::int64_t gap_ns = 0;     ///< from the exit of the call before to its enter; negative where they overlap
  std::uint64_t own_ns = 0;    ///< what it took beyond its wait
  std::uint64_t enter_ns = 0;  ///< as it was
  std::uint32_t needs = 0;     ///< where its needs begin
  std::uint32_t context = 0;
  bool any = false;    ///< waits for the earliest of them
  bool fixed = false;  ///< begins when it did, whatever changes: up to the end of MPI_Init
  std::uint8_t unused[6] = {};
};

/// A time line as it is replayed.
struct StepLine {
  StepLine(Location at, storage::Spill& spill) : location(at), steps(spill), needs(spill) {}

  Location location;
  storage::Sequence<Step> steps;
  storage::Sequence<Dependency> needs;  ///< in the order of calls: those that hold
  EventId anchor;  ///< its beginning lies `lag_ns` behind the end of this call; unknown: where it was
  std::uint64_t lag_ns = 0;
};

/// A run in the form in which it is replayed.
struct ReplaySteps {
  std::vector<StepLine> lines;             ///< in the order of the store's
  std::uint64_t begin_ns = 0, end_ns = 0;  ///< first end of MPI_Init, last end of MPI_Finalize
};

/// Decides which of the run's dependencies hold, and what each call took itself (docs/algorithms.md 18).
/// Takes the dependencies, which `matched` must have (MatchingOptions::dependencies).
ReplaySteps replay_steps(const RankMap& rank_map, Matched& matched);

}  // namespace culprit::waits
