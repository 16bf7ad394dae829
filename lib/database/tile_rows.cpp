#include "database/tile_rows.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>

#include <sys/mman.h>
#include <unistd.h>

namespace culprit::database {
namespace {

/// Locations that are brought into the order of contexts at once. Their rows of one metric, wherever they
/// come to lie, stay in a processor's cache.
constexpr std::uint32_t kPlacedAtOnce = 64;

/// A metric that fewer than one row in so many has is cheaper to clear than to place, but for those.
constexpr std::size_t kSparse = 8;

/// A hint: without it everything works, slower.
void prefer_huge_pages(void* begin, std::size_t bytes) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t first = (reinterpret_cast<std::uintptr_t>(begin) + page - 1) / page * page;
  const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(begin) + bytes) / page * page;
  if (first < end) (void)::madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

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
  for (std::size_t m = 0; m < values.size(); ++m) {
    columns_[m].push_back(values[m]);
    values_[m] += values[m] != 0 ? 1 : 0;
  }
}

void TileRows::add_rows(std::span<const ContextId> contexts, std::span<const std::uint64_t> values) {
  const std::size_t rows = contexts.size();
  if (values.size() != rows * columns_.size()) throw std::invalid_argument("rows of values of another size");
  any_.assign(rows, 0);
  std::uint64_t* const any = any_.data();
  for (std::size_t m = 0; m < columns_.size(); ++m) {
    const std::uint64_t* const column = values.data() + m * rows;
    for (std::size_t row = 0; row < rows; ++row) any[row] |= column[row];
  }
  const bool first = !first_row_.empty() && rows_.size() == first_row_.back();
  const bool ascend = std::ranges::adjacent_find(contexts, std::ranges::greater_equal()) == contexts.end();
  if (first && ascend && rows > 0 && contexts.back() < contexts_ &&
      std::ranges::find(any_, 0U) == any_.end()) {
    rows_.insert(rows_.end(), contexts.begin(), contexts.end());
    for (std::size_t m = 0; m < columns_.size(); ++m) {
      const auto column = values.subspan(m * rows, rows);
      columns_[m].insert(columns_[m].end(), column.begin(), column.end());
      for (const std::uint64_t value : column) values_[m] += value != 0 ? 1 : 0;
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

/// The rows of some locations: first where each goes, then metric by metric.
void TileRows::place_rows(std::uint32_t first_location, std::uint32_t end_location) {
  const std::size_t first = first_row_[first_location];
  const std::size_t end = end_location < locations() ? first_row_[end_location] : rows_.size();
  place_.resize(end - first);
  std::uint32_t* place = place_.data();
  std::uint32_t* const next = next_row_.data();
  std::uint32_t* const location_of = location_of_.data();
  for (std::uint32_t location = first_location; location < end_location; ++location) {
    for (const ContextId context : contexts_of(location)) {
      const std::uint32_t to = next[context]++;
      location_of[to] = location;
      *place++ = to;
    }
  }
  for (std::size_t m = 0; m < columns_.size(); ++m) {
    const std::uint64_t* const from = columns_[m].data() + first;
    std::uint64_t* const into = by_context_columns_[m].data();
    const bool sparse = sparse_[m] != 0;
    for (std::size_t row = 0; row < place_.size(); ++row) {
      if (!sparse || from[row] != 0) into[place_[row]] = from[row];
    }
  }
}

/// Makes room for the rows by context. They are written here and there, a page or so for every context: with
/// pages of the usual size nearly every write would wait for a translation of its address.
void TileRows::make_room() {
  location_of_.resize(rows_.size());
  for (std::size_t m = 0; m < columns_.size(); ++m) {
    std::vector<std::uint64_t>& column = by_context_columns_[m];
    const std::size_t before = column.capacity();
    if (column.capacity() < rows_.size()) column.reserve(rows_.size() + rows_.size() / 8);
    if (column.capacity() != before) prefer_huge_pages(column.data(), column.capacity() * sizeof column[0]);
    column.resize(rows_.size());
    sparse_[m] = values_[m] * kSparse <= rows_.size() ? 1 : 0;
    if (sparse_[m] != 0) std::ranges::fill(column, 0);
  }
}

/// Which metrics each context has; most have none of most metrics.
void TileRows::find_metrics() {
  for (std::size_t m = 0; m < columns_.size(); ++m) {
    if (values_[m] == 0) continue;
    const std::uint64_t* const column = by_context_columns_[m].data();
    for (OfContext& of : of_context_) {
      std::uint64_t any = 0;
      for (std::uint32_t row = of.first; row < of.first + of.rows; ++row) any |= column[row];
      if (any != 0) of.metrics |= OfContext::bit_of(m);
    }
  }
}

void TileRows::arrange() {
  if (arranged_) return;
  count_rows();
  make_room();
  for (std::uint32_t location = 0; location < locations(); location += kPlacedAtOnce)
    place_rows(location, std::min(location + kPlacedAtOnce, locations()));
  for (const OfContext& of : of_context_) next_row_[of.context] = 0;
  find_metrics();
  arranged_ = true;
}

void TileRows::clear() {
  first_row_.clear();
  rows_.clear();
  for (std::vector<std::uint64_t>& column : columns_) column.clear();
  std::ranges::fill(values_, 0);
  of_context_.clear();
  arranged_ = false;
}

}  // namespace culprit::database
