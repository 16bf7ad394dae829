#pragma once

#include "database/checked_bytes.hpp"
#include "database/database.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace culprit::database {

class ValueListReader;

/// Per-thread values in the tiles of a database (docs/formats.md, "Tiles"). Trusts nothing: throws
/// DatabaseError where what it needs is damaged. Const members are thread-safe.
class TileValues {
 public:
  TileValues() = default;

  /// `index`: the tile index; `file`: the whole file, which must outlive this. Contexts and metrics
  /// are below the numbers given. Costs time with the number of tiles. Throws DatabaseError.
  TileValues(ByteSpan index, ByteSpan file, std::uint64_t contexts, std::uint64_t metrics,
             const std::filesystem::path& path);

  [[nodiscard]] std::uint32_t locations() const { return locations_; }

  /// Exclusive values of one location, ascending by (context, metric).
  [[nodiscard]] std::vector<Value> profile(std::uint32_t location) const;

  using ContextRange = database::ContextRange;
  /// Where one metric's values are added: one sum per location, from `first` on, of all tiles that are asked
  /// for.
  struct Sums {
    std::uint32_t metric = 0;
    std::span<std::uint64_t> by_location;
    std::uint32_t first = 0;
  };
  /// Some of the tiles: every `step`th one from `first` on.
  struct Share {
    std::size_t first = 0, step = 1;
  };

  /// Adds the exclusive values of all contexts in `ranges` (ascending, disjoint), of the tiles in `share`: of
  /// a subtree the inclusive values at its top, for which at most about kMaxCost times as many values are
  /// read as there are locations.
  void add_all(std::span<const ContextRange> ranges, std::span<const Sums> into, const Share& share) const;
  void add_all(std::span<const ContextRange> ranges, std::span<const Sums> into) const {
    add_all(ranges, into, Share());
  }
  /// How many lists that reads of one tile.
  [[nodiscard]] std::size_t lists_of(std::span<const ContextRange> ranges, std::size_t tile) const;

  /// The same for the exclusive values at `contexts` (ascending).
  void add_exclusive(std::span<const ContextId> contexts, std::span<const Sums> into) const;

  /// Adds the exclusive values of a file or load module; false: they are not there, in files of older
  /// writers.
  [[nodiscard]] bool add_exclusive_of(FlatId scope, const Sums& into) const;

  /// The locations of each tile: as many as there are from its first one on.
  struct Range {
    std::uint32_t first = 0, locations = 0;
  };
  [[nodiscard]] std::size_t tiles() const { return tiles_.size(); }
  [[nodiscard]] Range range(std::size_t tile) const { return {tiles_[tile].first, tiles_[tile].locations}; }

 private:
  struct Part {
    CheckedBytes bytes;
    std::uint32_t first = 0, locations = 0;
  };
  class Lists;
  template <class Visit>
  static void for_lists(const Lists& lists, std::span<const ContextRange> ranges, Visit visit);
  static void add(const Lists& lists, ValueListReader& list, std::span<const Sums> into, std::uint32_t first);

  std::vector<Part> tiles_;
  std::uint32_t locations_ = 0;
  std::uint64_t contexts_ = 0, metrics_ = 0;
};

}  // namespace culprit::database
