#pragma once

#include "database/database.hpp"
#include "database/encoding.hpp"
#include "database/tile_rows.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace culprit::database {

/// The per-thread values of some consecutive locations as they lie in the file (docs/formats.md, "Tiles"): by
/// location and by context, both sparse. They are written tile by tile, so that nobody ever holds those of
/// more locations than a tile has.
struct Tile {
  Bytes bytes;
  std::uint32_t locations = 0;
  std::uint64_t values = 0;  ///< exclusive ones, each counted once
};

/// How many locations a tile should hold: a function of the whole run alone, so that the bytes do not depend
/// on who writes them. `rows`: over all locations, the contexts with an exclusive value (an estimate will do,
/// as long as it is the same for any number of ranks; the measurements' numbers of cells, say). A tile may
/// hold more where it should end with a process.
[[nodiscard]] std::uint32_t tile_locations(std::uint64_t locations, std::uint64_t rows);

/// Collects the exclusive values of consecutive locations and makes a tile of them. Needs memory for one
/// tile: about rows × (4 + 8 × metrics) bytes; reuses it for the next. Local: communicates with nobody; not
/// thread-safe, but several builders may work at once.
class TileBuilder {
 public:
  /// `parents`: the parent of every context, in pre-order (kNone for context 0), the same for all tiles of a
  /// database; `metrics`: how many of the experiment's (the first ones) have values per thread.
  TileBuilder(std::span<const ContextId> parents, std::size_t metrics);
  ~TileBuilder();
  TileBuilder(TileBuilder&&) noexcept;
  TileBuilder& operator=(TileBuilder&&) noexcept;

  /// Where the tile's values are collected.
  [[nodiscard]] TileRows& collected();

  /// Encodes the locations that were collected since, which must be complete. take() does it otherwise, when
  /// their values are no longer in the processor's cache.
  void encode_locations();

  /// Encodes what was collected (at least one location) and starts the next tile. Deterministic. Throws
  /// std::length_error where a tile gets 4 GiB or more.
  [[nodiscard]] Tile take() { return take({}); }
  /// Likewise, into the memory of a tile that nobody needs any more.
  [[nodiscard]] Tile take(Tile&& used);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace culprit::database
