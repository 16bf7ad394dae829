#pragma once

#include "blame/one_sided.hpp"
#include "database/database.hpp"
#include "measurement/measurement.hpp"
#include "merge/context_values.hpp"
#include "merge/flat.hpp"
#include "merge/role_sums.hpp"
#include "merge/shape.hpp"
#include "merge/sparse_rows.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace culprit::merge {

/// Second pass over the input, one thread at a time: exclusive values at contexts, from them this thread's
/// inclusive values, and both into the accumulators of the thread's role (algorithms.md 2: inclusive values
/// are formed per thread, then accumulated). Cost per thread: linear in the contexts it touched. Not
/// thread-safe.
class ThreadAccumulation {
 public:
  /// `roles`: number of roles. `shape` must outlive this.
  ThreadAccumulation(const Shape& shape, std::size_t roles);

  /// Which events of this process feed which columns, and which kinds of wait its layers mark; before its
  /// threads.
  void begin_process(const measurement::Measurement& file);

  /// Adds one thread. `united[n]`: the node of the united tree of the thread's node n; what the united tree
  /// does not hold (a file that grew between the passes) is charged to its nearest ancestor. Locations must
  /// ascend.
  void add(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united,
           std::uint32_t location, std::uint32_t role, ContextValues& by_context);

  /// What the approximation of waits needs, ranks left out, in the order of add.
  [[nodiscard]] const std::vector<blame::EpochRow>& epochs() const { return epochs_; }
  [[nodiscard]] std::vector<RoleSums>& roles() { return roles_; }
  /// Exclusive values per thread, in the order of add.
  [[nodiscard]] const std::vector<std::vector<database::Value>>& profiles() const { return profiles_; }
  /// Contexts outside every frontier frame where marked waiting was found, and its kind.
  [[nodiscard]] const std::map<database::ContextId, measurement::WaitKind>& lone_waits() const {
    return lone_waits_;
  }

 private:
  void record(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united);
  std::uint64_t idle_time(const measurement::Cell& cell, database::ContextId context);
  void list_profile();
  void list_epochs(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united,
                   std::uint32_t location);
  void list_thread_waits(std::uint32_t location);
  [[nodiscard]] database::ContextId frontier_of(database::ContextId context) const;
  void spread_exclusive();
  void sum_inclusive();
  void accumulate(RoleSums& role) const;

  const Shape& shape_;
  FlatTargets flat_targets_;
  IdLists exclusive_targets_;
  SparseRows own_, exclusive_, inclusive_, flat_exclusive_, flat_inclusive_;
  std::vector<std::size_t> event_columns_;  ///< of the process: event beside REALTIME → column
  bool has_realtime_ = true;                ///< of the process; else its events' samples are the samples
  std::uint32_t marked_kinds_ = 0;          ///< of the process: bit per WaitKind
  std::vector<RoleSums> roles_;
  std::vector<blame::EpochRow> epochs_;
  std::vector<std::vector<database::Value>> profiles_;
  std::map<database::ContextId, measurement::WaitKind> lone_waits_;
};

}  // namespace culprit::merge
