// Encodes the values of some locations twice, by location and by context (docs/formats.md, "Tiles"). They are
// exclusive; where adding up the lists below a context would cost kMaxCost times what reading one list costs,
// its inclusive values are stored, too: decided from the leaves up, where what is stored below counts as one
// list. So any context's values cost a reader a bounded factor, and few are there twice. How many locations a
// tile has depends on the run alone, not on who writes it.
#include "database/tile.hpp"

#include "database/format.hpp"
#include "database/value_list.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

namespace culprit::database {
namespace {

/// One tile's values in memory at most, as a rank holds them: about 40 bytes each.
constexpr std::uint64_t kRowsAimedAt = std::uint64_t{1} << 21U;
constexpr std::uint64_t kMostLocations = 512;  // short lists cost more than their values
constexpr std::uint64_t kLeastLocations = 16;
constexpr std::uint64_t kTilesAimedAt = 16;  // so that many ranks have something to do

/// Which locations of a tile have each context.
class Presence {
 public:
  void reset(std::size_t contexts, std::size_t locations) {
    width_ = (locations + 63) / 64;
    words_.assign(contexts * width_, 0);
  }
  void set(std::size_t context, std::uint32_t location) {
    words_[context * width_ + location / 64] |= std::uint64_t{1} << (location % 64);
  }
  void add(std::size_t into, std::size_t from) {
    for (std::size_t w = 0; w < width_; ++w) words_[into * width_ + w] |= words_[from * width_ + w];
  }
  [[nodiscard]] std::uint64_t count(std::size_t context) const {
    std::uint64_t sum = 0;
    for (std::size_t w = 0; w < width_; ++w)
      sum += static_cast<std::uint64_t>(std::popcount(words_[context * width_ + w]));
    return sum;
  }

 private:
  std::size_t width_ = 0;
  std::vector<std::uint64_t> words_;
};

/// A context of the tile: one with values, or above one.
struct Node {
  ContextId context = 0;
  std::uint32_t parent = kNone;  ///< position
  TileRows::OfContext own;       ///< its rows, if it has any
  std::uint32_t end = 0;         ///< position behind the subtree
  std::uint64_t cost = 0;        ///< of forming the inclusive values
  std::uint32_t stored = kNone;  ///< which of the stored inclusive lists
};

}  // namespace

std::uint32_t tile_locations(std::uint64_t locations, std::uint64_t rows) {
  const std::uint64_t by_rows =
      rows == 0 ? kMostLocations : kRowsAimedAt * locations / std::max<std::uint64_t>(rows, 1);
  const std::uint64_t by_tiles = (locations + kTilesAimedAt - 1) / kTilesAimedAt;
  return static_cast<std::uint32_t>(
      std::clamp(std::min(by_rows, std::max(by_tiles, kLeastLocations)), std::uint64_t{1}, kMostLocations));
}

/// Values of some rows, by metric.
using ColumnsOf = std::vector<std::vector<std::uint64_t>>;

/// Inclusive values that are stored, by location.
struct StoredRows {
  std::vector<std::uint32_t> locations;
  ColumnsOf columns;
  std::uint64_t metrics = 0;  ///< as TileRows::OfContext's
};

struct TileBuilder::State {
  std::vector<ContextId> parents;
  TileScopes scopes;
  TileRows collected;

  // While encoding.
  std::vector<std::uint32_t> profile_offsets;  ///< per location that is encoded
  std::vector<std::uint32_t> position;         ///< by context: its node, kNone elsewhere
  std::vector<Node> nodes;                     ///< by context
  Presence presence;
  std::vector<StoredRows> stored;
  ColumnsOf sums;                                           ///< by location
  std::uint64_t summed = 0;                                 ///< the metrics that have any
  std::vector<std::uint8_t> seen;                           ///< by location
  std::vector<std::pair<FlatId, std::uint32_t>> in_scopes;  ///< scope, and which context with rows is in it
  ValueListWriter lists;
  ValueRows rows;
  Encoder profiles, context_lists, directory;

  State(std::span<const ContextId> parent_of, TileScopes&& scopes_of, std::size_t metrics)
      : parents(parent_of.begin(), parent_of.end()),
        scopes(std::move(scopes_of)),
        collected(parent_of.size(), metrics) {}

  [[nodiscard]] std::size_t metrics() const { return collected.metrics(); }
  [[nodiscard]] std::span<const std::uint32_t> locations_at(const Node& node) const {
    return collected.locations_by_context().subspan(node.own.first, node.own.rows);
  }
  void put_list(std::span<const std::uint32_t> indices, std::size_t universe, Encoder& into);
  void put_profiles();
  void find_nodes();
  void choose_stored();
  void form_stored();
  void sum_inclusive(const Node& node, StoredRows& into);
  void begin_sums();
  template <class ColumnFrom>
  void add_to_sums(std::span<const std::uint32_t> where, std::uint64_t held, ColumnFrom column_from);
  void add_own_rows(const TileRows::OfContext& own);
  void take_sums(StoredRows& into);
  void enter(std::uint32_t scope, std::uint32_t covered);
  void put_stored(const StoredRows& from);
  void put_contexts();
  void put_scopes();
  void clear();
};

/// A list of the rows whose columns are set.
void TileBuilder::State::put_list(std::span<const std::uint32_t> indices, std::size_t universe,
                                  Encoder& into) {
  rows.indices = indices;
  lists.write(rows, static_cast<std::uint32_t>(universe), into);
}

/// Those of the locations that are not encoded yet.
void TileBuilder::State::put_profiles() {
  Encoder& into = profiles;
  rows.columns.resize(metrics());
  while (profile_offsets.size() < collected.locations()) {
    const auto location = static_cast<std::uint32_t>(profile_offsets.size());
    profile_offsets.push_back(static_cast<std::uint32_t>(into.size()));
    for (std::size_t m = 0; m < metrics(); ++m) rows.columns[m] = collected.column_of(location, m);
    put_list(collected.contexts_of(location), parents.size(), into);
  }
}

/// The contexts with rows and all above them, ascending.
void TileBuilder::State::find_nodes() {
  if (position.empty()) position.assign(parents.size(), kNone);
  nodes.clear();
  for (const TileRows::OfContext& of : collected.by_context()) {
    for (ContextId x = of.context; x != kNone && position[x] == kNone; x = parents[x]) position[x] = 0;
  }
  for (ContextId x = 0; x < parents.size(); ++x) {
    if (position[x] == kNone) continue;
    position[x] = static_cast<std::uint32_t>(nodes.size());
    nodes.push_back({.context = x, .parent = parents[x] == kNone ? kNone : position[parents[x]], .own = {}});
  }
  for (const TileRows::OfContext& of : collected.by_context()) nodes[position[of.context]].own = of;
  for (std::uint32_t n = 0; n < nodes.size(); ++n) nodes[n].end = n + 1;
  for (std::size_t n = nodes.size(); n-- > 1;) {
    Node& parent = nodes[nodes[n].parent];
    parent.end = std::max(parent.end, nodes[n].end);
  }
}

/// Where adding up the lists below a context would cost kMaxCost times what reading one list of it costs, its
/// inclusive values are stored (docs/formats.md, "Tiles").
void TileBuilder::State::choose_stored() {
  presence.reset(nodes.size(), collected.locations());
  std::vector<std::uint32_t> list_count(nodes.size(), 0);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    for (const std::uint32_t location : locations_at(nodes[n])) presence.set(n, location);
  }
  std::uint32_t count = 0;
  for (std::size_t n = nodes.size(); n-- > 0;) {
    Node& node = nodes[n];
    if (node.own.rows > 0) {
      node.cost += format::kListCost + node.own.rows;
      ++list_count[n];
    }
    const std::uint64_t whole = format::kListCost + presence.count(n);
    if (list_count[n] > 1 && node.cost > format::kMaxCost * whole) {
      node.stored = count++;
      node.cost = whole;
      list_count[n] = 1;
    }
    if (node.parent == kNone) continue;
    nodes[node.parent].cost += node.cost;
    list_count[node.parent] += list_count[n];
    presence.add(node.parent, n);
  }
  stored.resize(count);
}

void TileBuilder::State::begin_sums() {
  sums.resize(metrics());
  for (std::vector<std::uint64_t>& column : sums) column.assign(collected.locations(), 0);
  seen.assign(collected.locations(), 0);
  summed = 0;
}

/// `column_from`: of each metric that is `held`, one value for each location in `where`.
template <class ColumnFrom>
void TileBuilder::State::add_to_sums(std::span<const std::uint32_t> where, std::uint64_t held,
                                     ColumnFrom column_from) {
  for (const std::uint32_t location : where) seen[location] = 1;
  summed |= held;
  for (std::size_t m = 0; m < metrics(); ++m) {
    if ((held & TileRows::OfContext::bit_of(m)) == 0) continue;
    const std::uint64_t* const from = column_from(m);
    for (std::size_t i = 0; i < where.size(); ++i) sums[m][where[i]] += from[i];
  }
}

/// Rows in the order of contexts.
void TileBuilder::State::add_own_rows(const TileRows::OfContext& own) {
  add_to_sums(collected.locations_by_context().subspan(own.first, own.rows), own.metrics,
              [&](std::size_t m) { return collected.column_by_context(m).data() + own.first; });
}

void TileBuilder::State::take_sums(StoredRows& into) {
  into.locations.clear();
  into.metrics = summed;
  into.columns.resize(metrics());
  for (std::vector<std::uint64_t>& column : into.columns) column.clear();
  for (std::uint32_t location = 0; location < collected.locations(); ++location) {
    if (seen[location] == 0) continue;
    into.locations.push_back(location);
    for (std::size_t m = 0; m < metrics(); ++m) into.columns[m].push_back(sums[m][location]);
  }
}

/// Inclusive values from what is stored below and own rows.
void TileBuilder::State::sum_inclusive(const Node& node, StoredRows& into) {
  begin_sums();
  for (auto n = static_cast<std::uint32_t>(&node - nodes.data()); n < node.end;) {
    const Node& below = nodes[n];
    if (below.stored != kNone && &below != &node) {
      const StoredRows& rows_below = stored[below.stored];
      add_to_sums(rows_below.locations, rows_below.metrics,
                  [&](std::size_t m) { return rows_below.columns[m].data(); });
      n = below.end;
      continue;
    }
    add_own_rows(below.own);
    ++n;
  }
  take_sums(into);
}

void TileBuilder::State::form_stored() {
  for (std::size_t n = nodes.size(); n-- > 0;) {
    if (nodes[n].stored != kNone) sum_inclusive(nodes[n], stored[nodes[n].stored]);
  }
}

/// An entry of the directory for the list that follows.
void TileBuilder::State::enter(std::uint32_t scope, std::uint32_t covered) {
  directory.put(scope);
  directory.put(static_cast<std::uint32_t>(context_lists.size()));
  directory.put(covered);
}

void TileBuilder::State::put_stored(const StoredRows& from) {
  for (std::size_t m = 0; m < metrics(); ++m) rows.columns[m] = from.columns[m];
  put_list(from.locations, collected.locations(), context_lists);
}

/// The lists in the order of contexts, inclusive before own ones.
void TileBuilder::State::put_contexts() {
  std::vector<std::uint32_t> before(nodes.size() + 1, 0);  // entries before the node's
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    before[n + 1] = before[n] + (nodes[n].stored != kNone ? 1U : 0U) + (nodes[n].own.rows != 0 ? 1U : 0U);
  }
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const Node& node = nodes[n];
    if (node.stored != kNone) {
      enter(node.context, before[node.end] - before[n] - 1);
      put_stored(stored[node.stored]);
    }
    if (node.own.rows == 0) continue;
    enter(node.context, kNone);
    for (std::size_t m = 0; m < metrics(); ++m)
      rows.columns[m] = collected.column_by_context(m).subspan(node.own.first, node.own.rows);
    put_list(locations_at(node), collected.locations(), context_lists);
  }
}

/// The exclusive values of load modules and files, behind all contexts.
void TileBuilder::State::put_scopes() {
  const std::span<const TileRows::OfContext> contexts = collected.by_context();
  in_scopes.clear();
  for (std::uint32_t i = 0; i < contexts.size(); ++i) {
    for (FlatId scope = scopes.of_context[contexts[i].context]; scope != kNone; scope = scopes.around[scope])
      in_scopes.emplace_back(scope, i);
  }
  std::ranges::sort(in_scopes);
  StoredRows own;
  for (auto next = in_scopes.begin(); next != in_scopes.end();) {
    const FlatId scope = next->first;
    begin_sums();
    for (; next != in_scopes.end() && next->first == scope; ++next) add_own_rows(contexts[next->second]);
    take_sums(own);
    enter(static_cast<std::uint32_t>(parents.size() + scope), kNone);
    put_stored(own);
  }
}

void TileBuilder::State::clear() {
  for (const Node& node : nodes) position[node.context] = kNone;
  collected.clear();
  profile_offsets.clear();
  for (Encoder* bytes : {&profiles, &context_lists, &directory}) bytes->clear();
  nodes.clear();
  stored.clear();
}

TileBuilder::TileBuilder(std::span<const ContextId> parents, TileScopes scopes, std::size_t metrics)
    : state_(new State(parents, std::move(scopes), metrics)) {
  if (state_->scopes.of_context.size() != parents.size())
    throw std::invalid_argument("contexts whose parents are not given");
  for (std::size_t x = 1; x < parents.size(); ++x) {
    if (parents[x] >= x) throw std::invalid_argument("contexts that are not in pre-order");
  }
}

TileBuilder::~TileBuilder() = default;
TileBuilder::TileBuilder(TileBuilder&&) noexcept = default;
TileBuilder& TileBuilder::operator=(TileBuilder&&) noexcept = default;

TileRows& TileBuilder::collected() {
  return state_->collected;
}

void TileBuilder::encode_locations() {
  state_->put_profiles();
}

Tile TileBuilder::take(Tile&& used) {
  State& s = *state_;
  if (s.collected.locations() == 0) throw std::logic_error("a tile of no locations");
  s.put_profiles();
  s.profile_offsets.push_back(static_cast<std::uint32_t>(s.profiles.size()));
  s.collected.arrange();
  s.find_nodes();
  s.choose_stored();
  s.form_stored();
  s.put_contexts();
  s.put_scopes();

  const std::uint64_t lists =
      format::kTileHeaderSize + s.profile_offsets.size() * sizeof(std::uint32_t) + s.directory.size();
  if (lists + s.profiles.size() + s.context_lists.size() > UINT32_MAX)
    throw std::length_error("a tile of 4 GiB or more");
  Encoder tile(std::move(used.bytes));
  tile.reserve(lists + s.profiles.size() + s.context_lists.size());
  tile.put(s.collected.locations());
  tile.put(static_cast<std::uint32_t>(s.metrics()));
  tile.put(static_cast<std::uint32_t>(s.directory.size() / format::kTileEntrySize));
  tile.put(static_cast<std::uint32_t>(lists + s.profiles.size()));
  tile.put(static_cast<std::uint32_t>(s.context_lists.size()));
  tile.put(format::kTileHasScopes);
  // Offsets count from the profiles' first list, and from the contexts' first.
  tile.append(std::as_bytes(std::span(s.profile_offsets)));
  tile.append(s.directory.bytes());
  tile.append(s.profiles.bytes());
  tile.append(s.context_lists.bytes());
  Tile result{.bytes = tile.take(), .locations = s.collected.locations(), .values = s.collected.rows()};
  s.clear();
  return result;
}

}  // namespace culprit::database
