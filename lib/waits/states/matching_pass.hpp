#pragma once

#include "exchange/communicator.hpp"
#include "measurement/trace_event.hpp"
#include "waits/matching/contexts.hpp"
#include "waits/states/wait_sums.hpp"
#include "waits/timeline/dependencies.hpp"
#include "waits/timeline/own_times.hpp"
#include "waits/timeline/process_trace.hpp"
#include "waits/timeline/rank_map.hpp"
#include "waits/timeline/regions.hpp"
#include "waits/timeline/trace_store.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace culprit::waits {

/// Called with each record as it is read, in the order of exits on each time line: what the analyses need
/// that is no matter of matching (samples, iterations).
using Observer = std::function<void(Location, const measurement::trace::Record&)>;

struct MatchingOptions {
  /// How many records all ranks together read between two exchanges, about; what is in flight does not grow
  /// with the length of the traces. 0: chosen such that exchanges, and turning from one time line to the
  /// next, take a small part of the time.
  std::uint64_t records_per_round = 0;
  /// Where what was found is kept.
  storage::SpillOptions spill = {};
  /// Whether Matched::dependencies are recorded, which takes that one rank of the analysis has all processes.
  bool dependencies = false;
};

/// For MatchingOptions::spill: bytes in each of the `ranks` ranks of the analysis that run on this machine. A
/// quarter of what it has free for all of them together, up to 1 GiB for each, which twenty million calls
/// take; never less than 256 MiB, with which long time lines are packed and unpacked again and again.
std::size_t usual_memory(int ranks);

/// What the pass found on this rank's time lines; their waits are classified.
struct Matched {
  explicit Matched(const storage::SpillOptions& spill) : store(spill) {}

  TraceStore store;
  Regions regions;
  std::unique_ptr<Contexts> contexts;
  std::unique_ptr<Dependencies> dependencies;  ///< where they are asked for
  // What each time line shows by itself: added up as it is classified, when it is in memory anyway.
  std::vector<WaitSum> wait_sums;
  std::vector<OwnTime> own_times;
  ContextTimes context_times;
  /// What found no partner; this rank's share.
  [[nodiscard]] const Unmatched& unmatched() const { return store.unmatched; }
};

/// Collective: reads the processes of this rank of the analysis once, in step with the others, and finds all
/// that may have kept calls waiting (docs/algorithms.md 7). What stays in memory are operations without a
/// partner so far, and the blocks that `options.spill` allows; throws SpillError where the rest cannot be put
/// away. The result does not depend on how processes are spread over ranks, nor on the length of rounds.
/// Damaged and contradictory traces are counted, never guessed at.
Matched match_traces(exchange::Communicator& analysis, const RankMap& rank_map,
                     std::span<const std::unique_ptr<ProcessTrace>> own, const Observer& observer = {},
                     const MatchingOptions& options = {});

}  // namespace culprit::waits
