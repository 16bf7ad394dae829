// Forms inclusive values per thread, for all threads of a tile together, and adds them to the roles'
// accumulators (docs/algorithms.md 2). Metric by metric, from the last group of contexts to the first: a
// group's values over the threads are a row of lanes, children add theirs to their parent's, and each row is
// accumulated once. Rows without a value of the metric are left out. Cost: 0.03 ms per profile of 2000
// frames.
#include "merge/values/tile_sums.hpp"

#include <algorithm>
#include <utility>

namespace culprit::merge {

using database::kNone;
using database::TileRows;
using metrics::Accumulator;

namespace {

/// Locations whose values are summed at once: as many as a tile usually has; fewer where flat scopes,
/// each with a value per location, would take much memory.
constexpr std::size_t kMostLanes = 512;
constexpr std::size_t kLeastLanes = 64;
constexpr std::size_t kFlatBytes = std::size_t{16} << 20;
constexpr std::size_t kStep = 4;  // lanes that compilers add without a loop

std::size_t lanes_at_once(std::size_t flat_scopes) {
  const std::size_t fitting = kFlatBytes / sizeof(std::uint64_t) / std::max<std::size_t>(flat_scopes, 1);
  return std::clamp(fitting, kLeastLanes, kMostLanes) / kStep * kStep;
}

/// The lists turned around: per id, the items whose lists have it, ascending.
IdLists inverted(const IdLists& lists, std::size_t items, std::size_t ids) {
  std::vector<std::vector<std::uint32_t>> having(ids);
  for (std::uint32_t item = 0; item < items; ++item) {
    for (const std::uint32_t id : lists[item]) having[id].push_back(item);
  }
  IdLists result;
  for (const std::vector<std::uint32_t>& list : having) {
    result.add_list();
    for (const std::uint32_t item : list) result.add(item);
  }
  return result;
}

}  // namespace

TileSums::TileSums(const Shape& shape, const Plan& plan)
    : shape_(shape),
      plan_(plan),
      slot_of_context_(shape.contexts.size(), kNone),
      slot_of_group_(plan.groups(), kNone),
      row_slots_(inverted(plan.slot_exclusive, plan.slots.size(), plan.exclusive_rows)),
      width_(lanes_at_once(shape.flat.size())),
      entries_(plan.slots.size()),
      group_lanes_(plan.groups(), kNone),
      flat_lanes_(shape.flat.size(), kNone) {
  IdLists sources;
  for (std::uint32_t slot = 0; slot < plan.slots.size(); ++slot) {
    slot_of_context_[plan.slots[slot]] = slot;
    slot_of_group_[plan.group_of[plan.slots[slot]]] = slot;
    sources.add_list();
    if (plan.slot_source[slot] != kNone) sources.add(plan.slot_source[slot]);
  }
  source_slots_ = inverted(sources, plan.slots.size(), plan.flat_sources);
}

void TileSums::begin_tile(const TileRows& rows) {
  rows_ = &rows;
  entered_.clear();
  for (const TileRows::OfContext& of : rows.by_context()) {
    entered_.push_back(
        {.number = slot_of_context_[of.context], .first = of.first, .end = of.first, .of_tile = of});
  }
}

/// The rows of the locations from `first` to `end`, which follow those of the chunk before.
void TileSums::begin_chunk(std::uint32_t first, std::uint32_t end) {
  first_ = first;
  end_ = end;
  const auto roles = role_of_.subspan(first, end - first);
  one_role_ = std::ranges::all_of(roles, [&](std::uint32_t role) { return role == roles.front(); });
  const std::span<const std::uint32_t> locations = rows_->locations_by_context();
  for (Entered& slot : entered_) {
    const std::uint32_t end_of_tile = slot.of_tile.first + slot.of_tile.rows;
    slot.first = slot.end;
    if (end == rows_->locations()) {
      slot.end = end_of_tile;
    } else {
      while (slot.end < end_of_tile && locations[slot.end] < end) ++slot.end;
    }
  }
}

/// Leaves out the slots that have no value of the metric; most have none of most metrics.
bool TileSums::begin_metric(std::size_t metric) {
  metric_ = metric;
  column_ = rows_->column_by_context(metric);
  bool any_at_all = false;
  for (const Entered& slot : entered_) {
    const bool any = slot.of_tile.has(metric);
    entries_[slot.number] = any ? Entry{.first = slot.first, .end = slot.end} : Entry{};
    any_at_all = any_at_all || any;
  }
  return any_at_all;
}

/// Adds values to the sums of their roles; `location_of(i)` is where the i-th was measured.
template <typename LocationOf>
void TileSums::accumulate(Sums kind, std::size_t index, std::span<const std::uint64_t> values,
                          LocationOf location_of) {
  const std::size_t at = index * shape_.columns.metrics() + metric_;
  if (one_role_) {
    Accumulator sums;
    sums.accumulate(values);
    ((*roles_)[role_of_[first_]].*kind)[at].combine(sums);
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) ((*roles_)[role_of_[location_of(i)]].*kind)[at].accumulate(values[i]);
  }
}

void TileSums::accumulate(Sums kind, std::size_t index, const Entry& entry) {
  const auto locations = rows_->locations_by_context().subspan(entry.first);
  accumulate(kind, index, column_.subspan(entry.first, entry.end - entry.first),
             [&](std::size_t i) { return locations[i]; });
}

void TileSums::accumulate(Sums kind, std::size_t index, std::uint32_t from) {
  accumulate(kind, index, {lanes(from), end_ - first_}, [&](std::size_t i) { return first_ + i; });
}

/// A row of lanes, all zero. Moves the others.
std::uint32_t TileSums::take_lanes() {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(lanes_.size() / width_));
    lanes_.resize(lanes_.size() + width_);
  }
  const std::uint32_t taken = free_.back();
  free_.pop_back();
  std::fill_n(lanes(taken), end_ - first_, std::uint64_t{0});
  return taken;
}

void TileSums::add_rows(std::uint32_t into, const Entry& entry) {
  const std::uint64_t* const values = column_.data();
  const std::uint32_t* const locations = rows_->locations_by_context().data();
  Lanes sums = lanes(into);
  for (std::uint32_t row = entry.first; row < entry.end; ++row) sums[locations[row] - first_] += values[row];
}

void TileSums::add_lanes(std::uint32_t into, std::uint32_t from) {
  Lanes sums = lanes(into);
  const std::uint64_t* const values = lanes(from);
  // Behind the chunk lie the dregs of wider ones, which nobody reads.
  for (std::size_t i = 0; i < end_ - first_; i += kStep) {
    for (std::size_t j = 0; j < kStep; ++j) sums[i + j] += values[i + j];
  }
}

std::uint32_t TileSums::flat_lanes(std::uint32_t scope) {
  if (flat_lanes_[scope] == kNone) {
    flat_lanes_[scope] = take_lanes();
    touched_flat_.push_back(scope);
  }
  return flat_lanes_[scope];
}

void TileSums::add_flat(std::uint32_t scope, std::uint32_t from) {
  const std::uint32_t into = flat_lanes(scope);
  add_lanes(into, from);
}

void TileSums::add_flat(std::uint32_t scope, const Entry& entry) {
  add_rows(flat_lanes(scope), entry);
}

void TileSums::flush_flat(Sums kind) {
  for (const std::uint32_t scope : touched_flat_) {
    const std::uint32_t from = std::exchange(flat_lanes_[scope], kNone);
    accumulate(kind, scope, from);
    free_.push_back(from);
  }
  touched_flat_.clear();
}

std::uint32_t TileSums::sum_slots(std::span<const std::uint32_t> slots) {
  std::uint32_t sum = kNone;
  for (const std::uint32_t slot : slots) {
    if (entries_[slot].empty()) continue;
    if (sum == kNone) sum = take_lanes();
    add_rows(sum, entries_[slot]);
  }
  return sum;
}

void TileSums::sum_exclusive_rows() {
  for (std::size_t row = 0; row < plan_.exclusive_rows; ++row) {
    const std::uint32_t sum = sum_slots(row_slots_[row]);
    if (sum == kNone) continue;
    accumulate(&RoleSums::exclusive, row, sum);
    free_.push_back(sum);
  }
}

void TileSums::sum_flat_exclusive() {
  for (std::size_t source = 0; source < plan_.flat_sources; ++source) {
    const std::uint32_t sum = sum_slots(source_slots_[source]);
    if (sum == kNone) continue;
    for (const std::uint32_t scope : plan_.source_flat[source]) add_flat(scope, sum);
    free_.push_back(sum);
  }
  flush_flat(&RoleSums::flat_exclusive);
}

/// The group's values are those of one slot and of nothing below.
void TileSums::pass_up(std::uint32_t group, const Entry& entry) {
  accumulate(&RoleSums::inclusive, group, entry);
  for (const std::uint32_t scope : plan_.group_flat[group]) add_flat(scope, entry);
  const std::uint32_t parent = plan_.group_parent[group];
  if (parent == kNone) return;
  if (group_lanes_[parent] == kNone) group_lanes_[parent] = take_lanes();
  add_rows(group_lanes_[parent], entry);
}

void TileSums::pass_up(std::uint32_t group, std::uint32_t sum) {
  accumulate(&RoleSums::inclusive, group, sum);
  for (const std::uint32_t scope : plan_.group_flat[group]) add_flat(scope, sum);
  const std::uint32_t parent = plan_.group_parent[group];
  if (parent != kNone && group_lanes_[parent] == kNone) {
    group_lanes_[parent] = sum;  // the first of its children that has any
    return;
  }
  if (parent != kNone) add_lanes(group_lanes_[parent], sum);
  free_.push_back(sum);
}

void TileSums::watch(std::uint32_t group, Watched& watched) const {
  const auto found = std::ranges::lower_bound(watched.groups, group);
  if (found == watched.groups.end() || *found != group) return;
  const auto row = static_cast<std::size_t>(found - watched.groups.begin());
  std::uint64_t* const into = &watched.idleness[row * rows_->locations()];
  if (const std::uint32_t sum = group_lanes_[group]; sum != kNone) {
    std::copy_n(&lanes_[std::size_t{sum} * width_], end_ - first_, into + first_);
    return;
  }
  const Entry& entry = entries_[slot_of_group_[group]];
  for (std::uint32_t r = entry.first; r < entry.end; ++r) into[rows_->locations_by_context()[r]] = column_[r];
}

/// A group comes after its parent, so going backwards every one is complete when it is reached.
void TileSums::sum_inclusive(Watched& watched) {
  for (auto group = static_cast<std::uint32_t>(plan_.groups()); group-- > 0;) {
    const std::uint32_t slot = slot_of_group_[group];
    const bool own = slot != kNone && !entries_[slot].empty();
    if (!own && group_lanes_[group] == kNone) continue;
    if (own && group_lanes_[group] != kNone) add_rows(group_lanes_[group], entries_[slot]);
    if (metric_ == Columns::kIdleness) watch(group, watched);
    if (const std::uint32_t sum = std::exchange(group_lanes_[group], kNone); sum != kNone) {
      pass_up(group, sum);
    } else {
      pass_up(group, entries_[slot]);
    }
  }
  flush_flat(&RoleSums::flat_inclusive);
}

void TileSums::add(const TileRows& rows, std::span<const std::uint32_t> role_of, std::vector<RoleSums>& roles,
                   Watched& watched) {
  watched.idleness.assign(watched.groups.size() * rows.locations(), 0);
  role_of_ = role_of;
  roles_ = &roles;
  begin_tile(rows);
  for (std::uint32_t first = 0; first < rows.locations(); first = end_) {
    const auto end = static_cast<std::uint32_t>(std::min<std::size_t>(first + width_, rows.locations()));
    begin_chunk(first, end);
    for (std::size_t metric = 0; metric < rows.metrics(); ++metric) {
      if (!begin_metric(metric)) continue;
      sum_exclusive_rows();
      sum_flat_exclusive();
      sum_inclusive(watched);
    }
  }
  for (const Entered& slot : entered_) entries_[slot.number] = {};
}

}  // namespace culprit::merge
