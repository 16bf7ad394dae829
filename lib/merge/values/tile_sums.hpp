#pragma once

#include "database/tile_rows.hpp"
#include "merge/values/plan.hpp"
#include "merge/values/shape.hpp"
#include "metrics/accumulator.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace culprit::merge {

/// The accumulators of one role over the threads seen so far, row-major by metric; what the rows are, the
/// Plan says.
struct RoleSums {
  std::vector<metrics::Accumulator> inclusive;       ///< per group
  std::vector<metrics::Accumulator> exclusive;       ///< per exclusive row
  std::vector<metrics::Accumulator> flat_inclusive;  ///< per flat scope
  std::vector<metrics::Accumulator> flat_exclusive;  ///< per flat scope
  std::vector<metrics::Uint128> weight_sq;           ///< per group, of its own slots alone
  std::vector<std::uint64_t> blocked;                ///< likewise
  std::vector<metrics::Uint128> covered;             ///< per group, of all below it: blame::RoleView::covered

  [[nodiscard]] bool used() const { return !weight_sq.empty(); }
};

/// Forms the inclusive values of every thread of a tile and adds them, and the exclusive ones, to the
/// accumulators of the threads' roles (docs/algorithms.md 2: inclusive values are formed per thread, then
/// accumulated). Metric by metric and scope by scope, for many threads at once: what one scope's values add
/// to is looked up once for all of them, and an accumulator is loaded once. Not thread-safe.
class TileSums {
 public:
  /// What is referred to must outlive this.
  TileSums(const Shape& shape, const Plan& plan);

  /// Groups whose inclusive idleness is wanted thread by thread.
  struct Watched {
    std::vector<std::uint32_t> groups;    ///< ascending, unique
    std::vector<std::uint64_t> idleness;  ///< set by add: per group, one value per location
  };

  /// Adds a tile. `rows`: arranged; at slots' contexts. `role_of`: per location of the tile; the sums of
  /// these roles have their size.
  void add(const database::TileRows& rows, std::span<const std::uint32_t> role_of,
           std::vector<RoleSums>& roles, Watched& watched);

 private:
  /// A row of values, one per lane (location of the chunk).
  using Lanes = std::uint64_t*;
  /// The rows of one slot in the chunk, if any of its rows in the tile has a value of the metric.
  struct Entry {
    std::uint32_t first = 0, end = 0;
    [[nodiscard]] bool empty() const { return first == end; }
  };
  /// A slot with rows in the tile, and which are in the chunk.
  struct Entered {
    std::uint32_t number = 0;
    std::uint32_t first = 0, end = 0;
    database::TileRows::OfContext of_tile;
  };
  using Sums = std::vector<metrics::Accumulator> RoleSums::*;

  void begin_tile(const database::TileRows& rows);
  void begin_chunk(std::uint32_t first, std::uint32_t end);
  bool begin_metric(std::size_t metric);
  /// What the slots hold together, in lanes to give back; kNone where they are all empty.
  std::uint32_t sum_slots(std::span<const std::uint32_t> slots);
  void sum_exclusive_rows();
  void sum_flat_exclusive();
  void sum_inclusive(Watched& watched);
  void pass_up(std::uint32_t group, std::uint32_t lanes);
  void pass_up(std::uint32_t group, const Entry& entry);
  void watch(std::uint32_t group, Watched& watched) const;
  void flush_flat(Sums kind);

  template <typename LocationOf>
  void accumulate(Sums kind, std::size_t index, std::span<const std::uint64_t> values,
                  LocationOf location_of);
  void accumulate(Sums kind, std::size_t index, const Entry& entry);
  void accumulate(Sums kind, std::size_t index, std::uint32_t lanes);
  void add_rows(std::uint32_t into, const Entry& entry);
  void add_lanes(std::uint32_t into, std::uint32_t from);
  void add_flat(std::uint32_t scope, std::uint32_t from);
  void add_flat(std::uint32_t scope, const Entry& entry);
  std::uint32_t flat_lanes(std::uint32_t scope);
  std::uint32_t take_lanes();
  [[nodiscard]] Lanes lanes(std::uint32_t number) { return &lanes_[std::size_t{number} * width_]; }

  const Shape& shape_;
  const Plan& plan_;
  // The plan, looked at from where values arrive.
  std::vector<std::uint32_t> slot_of_context_;  ///< kNone: none
  std::vector<std::uint32_t> slot_of_group_;    ///< a group has one at most, its last context; kNone: none
  IdLists row_slots_;                           ///< per exclusive row
  IdLists source_slots_;                        ///< per flat source
  std::size_t width_;                           ///< lanes of a row of them

  // The tile, and the chunk of it that is summed.
  const database::TileRows* rows_ = nullptr;
  std::span<const std::uint32_t> role_of_;
  std::vector<RoleSums>* roles_ = nullptr;
  std::vector<Entered> entered_;       ///< ascending
  std::vector<Entry> entries_;         ///< per slot
  std::uint32_t first_ = 0, end_ = 0;  ///< locations of the chunk
  bool one_role_ = true;               ///< in the chunk
  std::size_t metric_ = 0;
  std::span<const std::uint64_t> column_;  ///< of the metric, by context

  std::vector<std::uint64_t> lanes_;
  std::vector<std::uint32_t> free_;         ///< rows of lanes
  std::vector<std::uint32_t> group_lanes_;  ///< per group: what its children add to; kNone: nothing yet
  std::vector<std::uint32_t> flat_lanes_;   ///< per flat scope
  std::vector<std::uint32_t> touched_flat_;
};

}  // namespace culprit::merge
