#include "database/tile_rows.hpp"

#include <algorithm>
#include <stdexcept>

namespace culprit::database {
namespace {

/// Locations that are brought into the order of contexts at once. Their rows of one metric, wherever they
/// come to lie, stay in a processor's cache.
constexpr std::uint32_t kPlacedAtOnce = 64;

}  // namespace

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
  for (std::size_t m = 0; m < values.size(); ++m) columns_[m].push_back(values[m]);
}

/// Which contexts have rows, how many, and where they begin.
void TileRows::count_rows() {
  next_row_.resize(contexts_, 0);
  of_context_.clear();
  for (const ContextId context : rows_) {
    if (next_row_[context]++ == 0) of_context_.push_back({.context = context});
  }
  std::ranges::sort(of_context_, {}, &OfContext::context);
  std::uint32_t next = 0;
  for (OfContext& of : of_context_) {
    of.rows = next_row_[of.context];
    of.first = next_row_[of.context] = next;
    next += of.rows;
  }
}

/// The rows of some locations: first where each goes, then metric by metric.
void TileRows::place_rows(std::uint32_t first_location, std::uint32_t end_location) {
  const std::size_t first = first_row_[first_location];
  place_.clear();
  for (std::uint32_t location = first_location; location < end_location; ++location) {
    for (const ContextId context : contexts_of(location)) {
      const std::uint32_t to = next_row_[context]++;
      location_of_[to] = location;
      place_.push_back(to);
    }
  }
  for (std::size_t m = 0; m < columns_.size(); ++m) {
    const std::uint64_t* from = columns_[m].data() + first;
    std::uint64_t* into = by_context_columns_[m].data();
    for (std::size_t row = 0; row < place_.size(); ++row) into[place_[row]] = from[row];
  }
}

void TileRows::arrange() {
  if (arranged_) return;
  count_rows();
  location_of_.resize(rows_.size());
  for (std::vector<std::uint64_t>& column : by_context_columns_) column.resize(rows_.size());
  for (std::uint32_t location = 0; location < locations(); location += kPlacedAtOnce)
    place_rows(location, std::min(location + kPlacedAtOnce, locations()));
  for (const OfContext& of : of_context_) next_row_[of.context] = 0;
  arranged_ = true;
}

void TileRows::clear() {
  first_row_.clear();
  rows_.clear();
  for (std::vector<std::uint64_t>& column : columns_) column.clear();
  of_context_.clear();
  arranged_ = false;
}

}  // namespace culprit::database
