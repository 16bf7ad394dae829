// Looks up values per thread in a database's tiles (docs/formats.md, "Tiles"). For subtrees, the fewest lists
// are read that hold their values: inclusive ones where all that they hold is asked for, exclusive ones
// elsewhere. Entries are found by binary search, and bytes are verified when they are read. Cost of a
// subtree: in each tile, at most some kMaxCost times as many values as it has locations.
#include "database/tile_values.hpp"

#include "database/encoding.hpp"
#include "database/format.hpp"
#include "database/value_list.hpp"

#include <algorithm>

namespace culprit::database {
namespace {

/// An entry of a tile's directory.
struct Entry {
  ContextId context = 0;
  std::uint32_t offset = 0;   ///< of its list, among the lists by context
  std::uint32_t covered = 0;  ///< inclusive: the entries that follow and are in it; kNone: exclusive
};
static_assert(sizeof(Entry) == format::kTileEntrySize);

}  // namespace

/// The lists of one tile.
class TileValues::Lists {
 public:
  Lists(const Part& part, std::uint64_t contexts, std::uint64_t metrics)
      : bytes_(part.bytes), locations_(part.locations), contexts_(contexts) {
    const ByteSpan head = bytes_.at(0, format::kTileHeaderSize);
    const std::uint64_t offsets = (std::uint64_t{locations_} + 1) * sizeof(std::uint32_t);
    columns_ = load<std::uint32_t>(head.subspan(4));
    entries_ = load<std::uint32_t>(head.subspan(8));
    lists_ = load<std::uint32_t>(head.subspan(12));
    lists_size_ = load<std::uint32_t>(head.subspan(16));
    directory_ = format::kTileHeaderSize + offsets;
    profiles_ = directory_ + entries_ * format::kTileEntrySize;
    flags_ = load<std::uint32_t>(head.subspan(20));
    if (load<std::uint32_t>(head) != locations_ || columns_ > metrics || profiles_ > lists_ ||
        lists_ + lists_size_ != bytes_.size()) {
      bytes_.fail("contradicts the index of tiles");
    }
  }

  [[nodiscard]] std::uint32_t entries() const { return entries_; }
  [[nodiscard]] std::uint32_t columns() const { return columns_; }
  [[nodiscard]] bool has_scopes() const { return (flags_ & format::kTileHasScopes) != 0; }

  [[nodiscard]] Entry entry(std::uint32_t number) const {
    const auto found =
        load<Entry>(bytes_.at(directory_ + number * format::kTileEntrySize, format::kTileEntrySize));
    if (found.covered != kNone && found.covered >= entries_ - number)
      bytes_.fail("has a directory that leads nowhere");
    return found;
  }

  /// The first entry from `first` on of a context not below `context`.
  [[nodiscard]] std::uint32_t lower_bound(ContextId context, std::uint32_t first) const {
    std::uint32_t count = entries_ - first;
    while (count > 0) {
      const std::uint32_t half = count / 2;
      if (entry(first + half).context < context) {
        first += half + 1;
        count -= half + 1;
      } else {
        count = half;
      }
    }
    return first;
  }

  /// Reads the list of entry `number`, which is `entry`.
  void read(std::uint32_t number, const Entry& entry, ValueListReader& into) const {
    const std::uint64_t end = number + 1 < entries_ ? this->entry(number + 1).offset : lists_size_;
    if (end < entry.offset || end > lists_size_) bytes_.fail("has lists that overlap");
    read(lists_ + entry.offset, end - entry.offset, locations_, into);
  }

  void read_profile(std::uint32_t location, ValueListReader& into) const {
    const ByteSpan offsets =
        bytes_.at(format::kTileHeaderSize + location * sizeof(std::uint32_t), 2 * sizeof(std::uint32_t));
    const auto begin = load<std::uint32_t>(offsets);
    const auto end = load<std::uint32_t>(offsets.subspan(sizeof begin));
    if (begin > end || end > lists_ - profiles_) bytes_.fail("has profiles that overlap");
    read(profiles_ + begin, end - begin, static_cast<std::uint32_t>(contexts_), into);
  }

  /// A column of what was read.
  std::span<const std::uint64_t> column(ValueListReader& list, std::size_t metric) const {
    try {
      return list.column(metric);
    } catch (const Malformed& error) {
      bytes_.fail(error.what());
    }
  }

 private:
  void read(std::uint64_t offset, std::uint64_t size, std::uint32_t universe, ValueListReader& into) const {
    const ByteSpan list = bytes_.at(offset, size);
    try {
      into.read(list, universe, columns_);
    } catch (const Malformed& error) {
      bytes_.fail(error.what());
    }
  }

  const CheckedBytes& bytes_;
  std::uint32_t locations_;
  std::uint64_t contexts_;
  std::uint32_t columns_ = 0, entries_ = 0, flags_ = 0;
  std::uint64_t lists_ = 0, lists_size_ = 0, directory_ = 0, profiles_ = 0;
};

TileValues::TileValues(ByteSpan index, ByteSpan file, std::uint64_t contexts, std::uint64_t metrics,
                       const std::filesystem::path& path)
    : contexts_(contexts), metrics_(metrics) {
  Decoder from(index, "the index of tiles");
  while (from.remaining() >= format::kTileIndexSize) {
    const auto offset = from.get<std::uint64_t>();
    const auto size = from.get<std::uint64_t>();
    const auto sum = from.get<std::uint64_t>();
    const auto first = from.get<std::uint32_t>();
    const auto locations = from.get<std::uint32_t>();
    if (first != locations_ || locations == 0 || locations > UINT32_MAX - first) {
      throw DatabaseError(path, "the index of tiles has a gap or an overlap (merge again)");
    }
    tiles_.push_back({.bytes = CheckedBytes(file, offset, size, sum, path, "a tile of values"),
                      .first = first,
                      .locations = locations});
    locations_ += locations;
  }
}

std::vector<Value> TileValues::profile(std::uint32_t location) const {
  if (location >= locations_) throw std::out_of_range("a location that does not exist");
  const auto after = std::ranges::upper_bound(tiles_, location, {}, &Part::first);
  const Part& part = *(after - 1);
  ValueListReader list;
  const Lists lists(part, contexts_, metrics_);
  lists.read_profile(location - part.first, list);
  for (std::size_t m = 0; m < lists.columns(); ++m) (void)lists.column(list, m);
  std::vector<Value> values;
  values.reserve(list.indices().size() * lists.columns());
  for (std::size_t i = 0; i < list.indices().size(); ++i) {
    for (std::uint32_t m = 0; m < lists.columns(); ++m) {
      const std::uint64_t value = list.column(m)[i];
      if (value != 0) values.push_back({.index = list.indices()[i], .metric = m, .value = value});
    }
  }
  return values;
}

/// What was read of a list of the tile whose first location is `first`.
void TileValues::add(const Lists& lists, ValueListReader& list, std::span<const Sums> into,
                     std::uint32_t first) {
  const std::span<const std::uint32_t> rows = list.indices();
  for (const Sums& sums : into) {
    if (sums.metric >= lists.columns()) continue;
    const auto column = lists.column(list, sums.metric);
    std::uint64_t* by_location = sums.by_location.data() + (first - sums.first);
    for (std::size_t i = 0; i < column.size(); ++i) by_location[rows[i]] += column[i];
  }
}

/// Calls visit(number, entry) for the fewest lists that together hold the values of the ranges: inclusive
/// ones where they hold nothing else.
template <class Visit>
void TileValues::for_lists(const Lists& lists, std::span<const ContextRange> ranges, Visit visit) {
  std::uint32_t number = 0;
  for (auto range = ranges.begin(); range != ranges.end();) {
    number = lists.lower_bound(range->first, number);
    if (number == lists.entries()) return;
    Entry entry = lists.entry(number);
    if (entry.context >= range->end) {
      range = std::ranges::upper_bound(range, ranges.end(), entry.context, {}, &ContextRange::end);
      continue;
    }
    while (entry.context < range->end) {
      const std::uint32_t covered = entry.covered != kNone ? entry.covered : 0;
      if (covered == 0 || lists.entry(number + covered).context < range->end) {
        visit(number, entry);
        number += covered;
      }
      if (++number == lists.entries()) return;
      entry = lists.entry(number);
    }
    ++range;
  }
}

void TileValues::add_all(std::span<const ContextRange> ranges, std::span<const Sums> into,
                         const Share& share) const {
  ValueListReader list;
  for (std::size_t tile = share.first; tile < tiles_.size(); tile += share.step) {
    const Part& part = tiles_[tile];
    const Lists lists(part, contexts_, metrics_);
    for_lists(lists, ranges, [&](std::uint32_t number, const Entry& entry) {
      lists.read(number, entry, list);
      add(lists, list, into, part.first);
    });
  }
}

std::size_t TileValues::lists_of(std::span<const ContextRange> ranges, std::size_t tile) const {
  std::size_t count = 0;
  for_lists(Lists(tiles_[tile], contexts_, metrics_), ranges, [&](std::uint32_t, const Entry&) { ++count; });
  return count;
}

void TileValues::add_exclusive(std::span<const ContextId> contexts, std::span<const Sums> into) const {
  ValueListReader list;
  for (const Part& part : tiles_) {
    const Lists lists(part, contexts_, metrics_);
    std::uint32_t number = 0;
    for (auto context = contexts.begin(); context != contexts.end();) {
      number = lists.lower_bound(*context, number);
      if (number == lists.entries()) break;
      const Entry entry = lists.entry(number);
      if (entry.context != *context) {
        context = std::lower_bound(context, contexts.end(), entry.context);
        continue;
      }
      ++number;
      if (entry.covered != kNone) continue;  // the exclusive list, if any, is the next one
      lists.read(number - 1, entry, list);
      add(lists, list, into, part.first);
      ++context;
    }
  }
}

bool TileValues::add_exclusive_of(FlatId scope, const Sums& into) const {
  const bool there = std::ranges::all_of(
      tiles_, [this](const Part& part) { return Lists(part, contexts_, metrics_).has_scopes(); });
  const auto entry = static_cast<ContextId>(contexts_ + scope);
  if (there) add_exclusive({&entry, 1}, {&into, 1});
  return there;
}

}  // namespace culprit::database
