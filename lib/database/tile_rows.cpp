// Brings the values of a tile from the order of locations into that of contexts: a counting sort by context
// gives each row its place, then each metric's column is gathered. Columns of metrics that no location has
// are not read. Cost: linear in contexts and values.
#include "database/tile_rows.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>

namespace culprit::database {

void TileRows::add_row(ContextId context, std::span<const std::uint64_t> values) {
  if (values.size() != columns_.size() || context >= contexts_ || first_row_.empty()) {
    throw std::invalid_argument("a row of values that fits nowhere");
  }
  if (rows_.size() > first_row_.back() && rows_.back() >= context) {
    throw std::invalid_argument("rows of values out of order");
  }
  std::uint64_t any = 0;
  for (const std::uint64_t value : values) any |= value;
  if (any == 0) return;
  rows_.push_back(context);
  for (std::size_t m = 0; m < values.size(); ++m) {
    columns_[m].push_back(values[m]);
    held_[m] |= values[m];
  }
}

void TileRows::add_rows(std::span<const ContextId> contexts, std::span<const std::uint64_t> values) {
  const std::size_t rows = contexts.size();
  if (values.size() != rows * columns_.size()) throw std::invalid_argument("rows of values of another size");
  any_.assign(rows, 0);
  std::uint64_t* const any = any_.data();
  for (std::size_t m = 0; m < columns_.size(); ++m) {
    const std::uint64_t* const column = values.data() + m * rows;
    std::uint64_t held = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      any[row] |= column[row];
      held |= column[row];
    }
    held_[m] |= held;
  }
  const bool first = !first_row_.empty() && rows_.size() == first_row_.back();
  const bool ascend = std::ranges::adjacent_find(contexts, std::ranges::greater_equal()) == contexts.end();
  if (first && ascend && rows > 0 && contexts.back() < contexts_ &&
      std::ranges::find(any_, 0U) == any_.end()) {
    rows_.insert(rows_.end(), contexts.begin(), contexts.end());
    for (std::size_t m = 0; m < columns_.size(); ++m) {
      const auto column = values.subspan(m * rows, rows);
      columns_[m].insert(columns_[m].end(), column.begin(), column.end());
    }
    return;
  }
  std::vector<std::uint64_t> one(columns_.size());
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t m = 0; m < one.size(); ++m) one[m] = values[m * rows + row];
    add_row(contexts[row], one);
  }
}

/// Which contexts have rows, how many, and where they begin.
void TileRows::count_rows() {
  next_row_.resize(contexts_, 0);
  of_context_.clear();
  for (const ContextId context : rows_) ++next_row_[context];
  std::uint32_t next = 0;
  for (ContextId context = 0; context < contexts_; ++context) {
    const std::uint32_t rows = next_row_[context];
    if (rows == 0) continue;
    of_context_.push_back({.context = context, .first = next, .rows = rows});
    next_row_[context] = next;
    next += rows;
  }
}

/// The rows in the order of contexts: their locations, and which they are by location.
void TileRows::place_rows() {
  location_of_.resize(rows_.size());
  row_of_.resize(rows_.size());
  std::uint32_t* const next = next_row_.data();
  std::uint32_t* const location_of = location_of_.data();
  for (std::uint32_t location = 0; location < locations(); ++location) {
    for (const ContextId context : contexts_of(location)) location_of[next[context]++] = location;
  }
  // A location's contexts ascend: its rows come up one after the other.
  next_of_location_ = first_row_;
  for (std::size_t row = 0; row < row_of_.size(); ++row)
    row_of_[row] = next_of_location_[location_of_[row]]++;
}

/// Collects one metric's values in the order of contexts, and finds which contexts have it. Neighbours are
/// neighbours by location, too: what is read of every location stays in a processor's cache.
void TileRows::arrange_metric(std::size_t metric) {
  std::vector<std::uint64_t>& column = by_context_columns_[metric];
  column.resize(rows_.size());
  if (held_[metric] == 0) {
    std::ranges::fill(column, 0);
    return;
  }
  const std::uint64_t* const from = columns_[metric].data();
  const std::uint32_t* const row_of = row_of_.data();
  std::uint64_t* const into = column.data();
  for (OfContext& of : of_context_) {
    std::uint64_t any = 0;
    for (std::uint32_t row = of.first; row < of.first + of.rows; ++row) any |= into[row] = from[row_of[row]];
    if (any != 0) of.metrics |= OfContext::bit_of(metric);
  }
}

void TileRows::arrange() {
  if (arranged_) return;
  count_rows();
  place_rows();
  for (const OfContext& of : of_context_) next_row_[of.context] = 0;
  for (std::size_t m = 0; m < columns_.size(); ++m) arrange_metric(m);
  arranged_ = true;
}

void TileRows::clear() {
  first_row_.clear();
  rows_.clear();
  for (std::vector<std::uint64_t>& column : columns_) column.clear();
  std::ranges::fill(held_, 0);
  of_context_.clear();
  arranged_ = false;
}

}  // namespace culprit::database
