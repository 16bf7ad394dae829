#pragma once

#include "cct/tree.hpp"
#include "database/database.hpp"
#include "measurement/measurement.hpp"
#include "merge/idleness/transfer_costs.hpp"
#include "merge/values/plan.hpp"
#include "merge/values/run_facts.hpp"
#include "merge/values/shape.hpp"
#include "merge/values/thread_values.hpp"
#include "merge/values/tile_sums.hpp"
#include "merge/values/trace_values.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace culprit::merge {

/// Second pass over the input: one thread at a time exclusive values at contexts, and tile by tile, from
/// them, each thread's inclusive values (TileSums), all into the accumulators of the threads' roles, apart
/// where they lived briefly. Cost per thread: linear in the contexts it touched. Not thread-safe.
class ThreadAccumulation {
 public:
  /// `roles`: number of roles. Where the shape's columns of time lines are call_metrics() and `traced` has no
  /// values, what wrappers counted fills them. `traced`: what time lines show of this rank's threads; null:
  /// nothing. What is referred to must outlive this.
  ThreadAccumulation(const Shape& shape, const Plan& plan, const Transfers& transfers, std::size_t roles,
                     const TraceValues* traced = nullptr);

  [[nodiscard]] const Shape& shape() const { return shape_; }

  /// Which events of this process feed which columns, and which kinds of wait its layers mark; before its
  /// threads.
  void begin_process(const measurement::Measurement& file) { values_.begin_process(file); }

  /// Adds one thread. `united[n]`: the node of the united tree of the thread's node n; what the united tree
  /// does not hold (a file that grew between the passes) is charged to its nearest ancestor. `sums_number`:
  /// Roles::sums.
  void add(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united,
           std::uint32_t location, std::uint32_t sums_number);

  /// The threads that were added since are a tile; `rows`: what list_exclusive added for each of
  /// them, arranged.
  void add_tile(const database::TileRows& rows);

  /// Adds a location to `rows`: the exclusive values of the thread that was added last.
  void list_exclusive(database::TileRows& rows);

  /// Of the tiles that were added; numbered as Roles::sums.
  [[nodiscard]] std::vector<RoleSums>& roles() { return roles_; }
  [[nodiscard]] const RunFacts& run() const { return run_; }

 private:
  RoleSums& role_sums(std::uint32_t number);

  const Shape& shape_;
  const Plan& plan_;
  RunFacts run_;
  ThreadValues values_;
  WaitLists waits_;
  // Of the tile.
  std::uint32_t first_location_ = 0;
  std::vector<std::uint32_t> sums_of_;  ///< per location: Roles::sums
  TileSums sums_;
  std::vector<RoleSums> roles_;
};

}  // namespace culprit::merge
