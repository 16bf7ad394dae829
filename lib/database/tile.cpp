#include "database/tile.hpp"

#include "database/format.hpp"
#include "database/value_list.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <stdexcept>

namespace culprit::database {
namespace {

/// One tile's values in memory at most, as a rank holds them: about 40 bytes each.
constexpr std::uint64_t kRowsAimedAt = std::uint64_t{1} << 21U;
constexpr std::uint64_t kMostLocations = 512;  // short lists cost more than their values
constexpr std::uint64_t kLeastLocations = 16;
constexpr std::uint64_t kTilesAimedAt = 16;  // so that many ranks have something to do

/// Which locations of a tile have a context.
class Presence {
 public:
  void resize(std::size_t locations) { words_.assign((locations + 63) / 64, 0); }
  void set(std::uint32_t location) { words_[location / 64] |= std::uint64_t{1} << (location % 64); }
  void add(const Presence& other) {
    for (std::size_t w = 0; w < words_.size(); ++w) words_[w] |= other.words_[w];
  }
  [[nodiscard]] std::uint64_t count() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t word : words_) sum += static_cast<std::uint64_t>(std::popcount(word));
    return sum;
  }

 private:
  std::vector<std::uint64_t> words_;
};

/// A context of the tile: one with values, or above one.
struct Node {
  ContextId context = 0;
  std::uint32_t parent = kNone;           ///< position
  std::uint32_t first_row = 0, rows = 0;  ///< own ones, in the order of contexts
  std::uint32_t end = 0;                  ///< position behind the subtree
  std::uint64_t cost = 0;                 ///< of forming the inclusive values
  std::uint32_t stored = kNone;           ///< which of the stored inclusive lists
};

}  // namespace

std::uint32_t tile_locations(std::uint64_t locations, std::uint64_t rows) {
  const std::uint64_t by_rows =
      rows == 0 ? kMostLocations : kRowsAimedAt * locations / std::max<std::uint64_t>(rows, 1);
  const std::uint64_t by_tiles = (locations + kTilesAimedAt - 1) / kTilesAimedAt;
  return static_cast<std::uint32_t>(
      std::clamp(std::min(by_rows, std::max(by_tiles, kLeastLocations)), std::uint64_t{1}, kMostLocations));
}

struct TileBuilder::State {
  std::vector<ContextId> parents;
  std::size_t metrics = 0;

  // Rows by location.
  std::vector<std::uint32_t> first_row;  ///< per location
  std::vector<ContextId> contexts;
  std::vector<std::uint64_t> values;  ///< rows × metrics

  // While encoding.
  std::vector<std::uint32_t> position;     ///< by context: its node, kNone elsewhere
  std::vector<Node> nodes;                 ///< by context
  std::vector<std::uint32_t> by_context;   ///< rows, by (context, location)
  std::vector<std::uint32_t> location_of;  ///< by row
  std::vector<ValueRows> stored;
  ValueRows scratch;

  [[nodiscard]] std::uint32_t row_end(std::size_t location) const {
    return location + 1 < first_row.size() ? first_row[location + 1]
                                           : static_cast<std::uint32_t>(contexts.size());
  }
  void gather(std::span<const std::uint32_t> rows, ValueRows& into) const;
  void put_profiles(Encoder& into, std::vector<std::uint32_t>& offsets);
  void find_nodes();
  void sort_rows();
  void choose_stored();
  void form_stored();
  void sum_inclusive(const Node& node, ValueRows& into);
  void put_contexts(Encoder& into, Encoder& directory);
  void clear();
};

/// The values of some rows, by column; indices are the caller's.
void TileBuilder::State::gather(std::span<const std::uint32_t> rows, ValueRows& into) const {
  into.columns.resize(metrics);
  for (std::size_t m = 0; m < metrics; ++m) {
    std::vector<std::uint64_t>& column = into.columns[m];
    column.resize(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) column[i] = values[rows[i] * metrics + m];
  }
}

void TileBuilder::State::put_profiles(Encoder& into, std::vector<std::uint32_t>& offsets) {
  std::vector<std::uint32_t> rows;
  for (std::size_t location = 0; location < first_row.size(); ++location) {
    offsets.push_back(static_cast<std::uint32_t>(into.size()));
    rows.resize(row_end(location) - first_row[location]);
    std::iota(rows.begin(), rows.end(), first_row[location]);
    scratch.indices.assign(contexts.begin() + first_row[location], contexts.begin() + row_end(location));
    gather(rows, scratch);
    put_values(scratch, static_cast<std::uint32_t>(parents.size()), into);
  }
  offsets.push_back(static_cast<std::uint32_t>(into.size()));
}

/// The contexts with rows and all above them, ascending.
void TileBuilder::State::find_nodes() {
  if (position.empty()) position.assign(parents.size(), kNone);
  nodes.clear();
  for (const ContextId context : contexts) {
    for (ContextId x = context; x != kNone && position[x] == kNone; x = parents[x]) {
      position[x] = 0;
      nodes.push_back({.context = x});
    }
  }
  std::ranges::sort(nodes, {}, &Node::context);
  for (std::uint32_t n = 0; n < nodes.size(); ++n) position[nodes[n].context] = n;
  for (Node& node : nodes) {
    if (parents[node.context] != kNone) node.parent = position[parents[node.context]];
  }
  for (std::uint32_t n = 0; n < nodes.size(); ++n) nodes[n].end = n + 1;
  for (std::size_t n = nodes.size(); n-- > 1;) {
    Node& parent = nodes[nodes[n].parent];
    parent.end = std::max(parent.end, nodes[n].end);
  }
}

/// Brings the rows into the order of contexts; those of a context stay in that of locations.
void TileBuilder::State::sort_rows() {
  for (const ContextId context : contexts) ++nodes[position[context]].rows;
  std::uint32_t next = 0;
  for (Node& node : nodes) {
    node.first_row = next;
    next += node.rows;
    node.rows = 0;
  }
  by_context.resize(contexts.size());
  location_of.resize(contexts.size());
  for (std::uint32_t location = 0; location < first_row.size(); ++location) {
    for (std::uint32_t row = first_row[location]; row < row_end(location); ++row) {
      Node& node = nodes[position[contexts[row]]];
      by_context[node.first_row + node.rows++] = row;
      location_of[row] = location;
    }
  }
}

/// Where adding up the lists below a context would cost kMaxCost times what reading one list of it costs, its
/// inclusive values are stored (docs/formats.md, "Tiles").
void TileBuilder::State::choose_stored() {
  std::vector<Presence> presence(nodes.size());
  std::vector<std::uint32_t> lists(nodes.size(), 0);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    presence[n].resize(first_row.size());
    for (std::uint32_t r = 0; r < nodes[n].rows; ++r)
      presence[n].set(location_of[by_context[nodes[n].first_row + r]]);
  }
  std::uint32_t count = 0;
  for (std::size_t n = nodes.size(); n-- > 0;) {
    Node& node = nodes[n];
    if (node.rows > 0) {
      node.cost += format::kListCost + node.rows;
      ++lists[n];
    }
    const std::uint64_t whole = format::kListCost + presence[n].count();
    if (lists[n] > 1 && node.cost > format::kMaxCost * whole) {
      node.stored = count++;
      node.cost = whole;
      lists[n] = 1;
    }
    if (node.parent == kNone) continue;
    nodes[node.parent].cost += node.cost;
    lists[node.parent] += lists[n];
    presence[node.parent].add(presence[n]);
    presence[n] = {};
  }
  stored.resize(count);
}

/// Inclusive values from what is stored below and own rows.
void TileBuilder::State::sum_inclusive(const Node& node, ValueRows& into) {
  const std::size_t locations = first_row.size();
  std::vector<std::uint64_t> sums(locations * metrics);
  std::vector<bool> seen(locations);
  for (auto n = static_cast<std::uint32_t>(&node - nodes.data()); n < node.end;) {
    const Node& below = nodes[n];
    if (below.stored != kNone && &below != &node) {
      const ValueRows& rows = stored[below.stored];
      for (std::size_t i = 0; i < rows.indices.size(); ++i) {
        seen[rows.indices[i]] = true;
        for (std::size_t m = 0; m < metrics; ++m) sums[rows.indices[i] * metrics + m] += rows.columns[m][i];
      }
      n = below.end;
      continue;
    }
    for (std::uint32_t r = 0; r < below.rows; ++r) {
      const std::uint32_t row = by_context[below.first_row + r];
      seen[location_of[row]] = true;
      for (std::size_t m = 0; m < metrics; ++m)
        sums[location_of[row] * metrics + m] += values[row * metrics + m];
    }
    ++n;
  }
  into.columns.assign(metrics, {});
  for (std::uint32_t location = 0; location < locations; ++location) {
    if (!seen[location]) continue;
    into.indices.push_back(location);
    for (std::size_t m = 0; m < metrics; ++m) into.columns[m].push_back(sums[location * metrics + m]);
  }
}

void TileBuilder::State::form_stored() {
  for (std::size_t n = nodes.size(); n-- > 0;) {
    if (nodes[n].stored == kNone) continue;
    stored[nodes[n].stored] = {};
    sum_inclusive(nodes[n], stored[nodes[n].stored]);
  }
}

/// The lists in the order of contexts, inclusive before own ones.
void TileBuilder::State::put_contexts(Encoder& into, Encoder& directory) {
  const auto locations = static_cast<std::uint32_t>(first_row.size());
  std::vector<std::uint32_t> before(nodes.size() + 1, 0);  // entries before the node's
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    before[n + 1] = before[n] + (nodes[n].stored != kNone ? 1U : 0U) + (nodes[n].rows != 0 ? 1U : 0U);
  }
  const auto enter = [&](const Node& node, std::uint32_t covered) {
    directory.put(node.context);
    directory.put(static_cast<std::uint32_t>(into.size()));
    directory.put(covered);
  };
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const Node& node = nodes[n];
    if (node.stored != kNone) {
      enter(node, before[node.end] - before[n] - 1);
      put_values(stored[node.stored], locations, into);
    }
    if (node.rows == 0) continue;
    enter(node, kNone);
    const auto rows = std::span(by_context).subspan(node.first_row, node.rows);
    scratch.indices.resize(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) scratch.indices[i] = location_of[rows[i]];
    gather(rows, scratch);
    put_values(scratch, locations, into);
  }
}

void TileBuilder::State::clear() {
  for (const Node& node : nodes) position[node.context] = kNone;
  first_row.clear();
  contexts.clear();
  values.clear();
  nodes.clear();
  stored.clear();
}

TileBuilder::TileBuilder(std::span<const ContextId> parents, std::size_t metrics) : state_(new State) {
  state_->parents.assign(parents.begin(), parents.end());
  state_->metrics = metrics;
  for (std::size_t x = 1; x < parents.size(); ++x) {
    if (parents[x] >= x) throw std::invalid_argument("contexts that are not in pre-order");
  }
}

TileBuilder::~TileBuilder() = default;
TileBuilder::TileBuilder(TileBuilder&&) noexcept = default;
TileBuilder& TileBuilder::operator=(TileBuilder&&) noexcept = default;

void TileBuilder::add_location() {
  state_->first_row.push_back(static_cast<std::uint32_t>(state_->contexts.size()));
}

void TileBuilder::add_row(ContextId context, std::span<const std::uint64_t> values) {
  State& s = *state_;
  if (values.size() != s.metrics || context >= s.parents.size() || s.first_row.empty()) {
    throw std::invalid_argument("a row of values that fits nowhere");
  }
  if (s.contexts.size() > s.first_row.back() && s.contexts.back() >= context) {
    throw std::invalid_argument("rows of values out of order");
  }
  if (std::ranges::all_of(values, [](std::uint64_t value) { return value == 0; })) return;
  s.contexts.push_back(context);
  s.values.insert(s.values.end(), values.begin(), values.end());
}

std::uint32_t TileBuilder::locations() const {
  return static_cast<std::uint32_t>(state_->first_row.size());
}

std::uint64_t TileBuilder::rows() const {
  return state_->contexts.size();
}

Tile TileBuilder::take() {
  State& s = *state_;
  if (s.first_row.empty()) throw std::logic_error("a tile of no locations");
  Encoder profiles, offsets, contexts, directory;
  std::vector<std::uint32_t> profile_offsets;
  s.put_profiles(profiles, profile_offsets);
  s.find_nodes();
  s.sort_rows();
  s.choose_stored();
  s.form_stored();
  s.put_contexts(contexts, directory);

  const std::uint64_t lists =
      format::kTileHeaderSize + profile_offsets.size() * sizeof(std::uint32_t) + directory.size();
  if (lists + profiles.size() + contexts.size() > UINT32_MAX)
    throw std::length_error("a tile of 4 GiB or more");
  Encoder tile;
  tile.put(static_cast<std::uint32_t>(s.first_row.size()));
  tile.put(static_cast<std::uint32_t>(s.metrics));
  tile.put(static_cast<std::uint32_t>(directory.size() / format::kTileEntrySize));
  tile.put(static_cast<std::uint32_t>(lists + profiles.size()));
  tile.put(static_cast<std::uint32_t>(contexts.size()));
  tile.pad(format::kTileHeaderSize - tile.size());
  // Offsets count from the profiles' first list, and from the contexts' first.
  tile.append(std::as_bytes(std::span(profile_offsets)));
  tile.append(directory.bytes());
  tile.append(profiles.bytes());
  tile.append(contexts.bytes());
  Tile result{.bytes = tile.take(), .locations = locations(), .values = s.contexts.size()};
  s.clear();
  return result;
}

}  // namespace culprit::database
