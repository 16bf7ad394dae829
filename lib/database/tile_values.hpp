#pragma once

#include "database/checked_bytes.hpp"
#include "database/database.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace culprit::database {

/// Per-thread values in the tiles of a database (docs/formats.md, "Tiles"). Trusts nothing: throws
/// DatabaseError where what it needs is damaged. Const members are thread-safe.
class TileValues {
 public:
  TileValues() = default;

  /// `index`: the tile index; `file`: the whole file, which must outlive this. Contexts and metrics are below
  /// the numbers given. Costs time with the number of tiles. Throws DatabaseError.
  TileValues(ByteSpan index, ByteSpan file, std::uint64_t contexts, std::uint64_t metrics,
             const std::filesystem::path& path);

  [[nodiscard]] std::uint32_t locations() const { return locations_; }

  /// Exclusive values of one location, ascending by (context, metric).
  [[nodiscard]] std::vector<Value> profile(std::uint32_t location) const;

  /// Adds one metric's inclusive values at a context to `sums`, one per location. `end`: the end of its
  /// subtree. Reads at most about kMaxCost times as many values as there are locations.
  void add_inclusive(ContextId context, ContextId end, std::uint32_t metric,
                     std::span<std::uint64_t> sums) const;

  /// The same for the exclusive values at `contexts` (ascending).
  void add_exclusive(std::span<const ContextId> contexts, std::uint32_t metric,
                     std::span<std::uint64_t> sums) const;

  /// Reads everything once, and so verifies it.
  void verify() const;

 private:
  struct Part {
    CheckedBytes bytes;
    std::uint32_t first = 0, locations = 0;
  };
  class Lists;

  std::vector<Part> tiles_;
  std::uint32_t locations_ = 0;
  std::uint64_t contexts_ = 0, metrics_ = 0;
};

}  // namespace culprit::database
