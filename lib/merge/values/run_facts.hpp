#pragma once

#include "blame/one_sided.hpp"
#include "blame/varying_gaps.hpp"
#include "cct/tree.hpp"
#include "database/database.hpp"
#include "measurement/measurement.hpp"
#include "merge/values/call_traffic.hpp"
#include "merge/values/plan.hpp"
#include "merge/values/shape.hpp"
#include "merge/values/tile_sums.hpp"
#include "waits/communication/traffic.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace culprit::merge {

/// A thread of which the kernel was not asked how it was scheduled.
struct BriefThread {
  std::uint32_t location = 0, zero = 0;
  std::uint64_t cpu_ns = 0;  ///< by its samples
};

/// What the threads of the run that were added show beside their values.
struct RunFacts {
  /// What the approximation of waits needs of the tiles that were added, ranks left out, in the order of add.
  std::vector<blame::EpochRow> epochs;
  std::vector<blame::EpochStamp> stamps;  ///< ranks and hosts left out likewise
  /// How threads were scheduled, where that is known, in the order of add.
  std::vector<database::ScheduledThread> schedules;
  std::vector<BriefThread> brief;  ///< the other threads
  /// Contexts outside every frontier frame where marked waiting was found, and its kind.
  std::map<database::ContextId, measurement::WaitKind> lone_waits;
  /// Gaps between waiting calls, by role and calls.
  std::map<blame::GapSums::Key, blame::GapSums> gaps;
  CallTraffic calls;                        ///< what the wrappers counted of MPI calls
  std::vector<waits::PartnerSum> partners;  ///< whom threads sent to, by the wrappers' counts
  std::uint64_t tracing_ns = 0;             ///< what recording calls for time lines took
};

/// Lists in RunFacts what accumulators and stamps of threads show: one-sided communication, messages that
/// were counted, gaps; and tile by tile the idleness where threads waited.
class WaitLists {
 public:
  /// What is referred to must outlive this.
  WaitLists(const Shape& shape, const Plan& plan, RunFacts& run);

  /// `rank`: the process's; negative: it has none.
  void add_epochs(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united,
                  std::uint32_t location, std::int32_t rank);
  /// How long the thread's gaps were, by the calls around them.
  void add_gaps(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united,
                std::uint32_t role);

  /// The groups whose idleness the waits of the tile's threads show; add_tile() takes what was found of them.
  [[nodiscard]] TileSums::Watched& watched();
  /// The threads that were added since are a tile.
  void add_tile(std::uint32_t first_location, std::size_t locations);

 private:
  const Shape& shape_;
  const Plan& plan_;
  RunFacts& run_;
  std::vector<database::ContextId> thread_waits_;  ///< frontiers where threads wait for each other
  std::vector<blame::EpochRow> tile_epochs_;       ///< whose idleness is not known yet
  TileSums::Watched watched_;
};

}  // namespace culprit::merge
