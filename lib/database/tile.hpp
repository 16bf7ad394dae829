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

/// For which file and which load module counts what is recorded at a context. Tiles have exclusive values of
/// these too: adding up all that is in them would take long.
struct TileScopes {
  std::vector<FlatId> of_context;  ///< by context: the innermost of them; kNone: none
  std::vector<FlatId> around;      ///< by flat scope: of a file its module; kNone: none
};

/// `contexts` and `flat` are in pre-order, have parents and kinds, and contexts have the flat scope that they
/// are instances of.
template <class Contexts, class Flat>
[[nodiscard]] TileScopes tile_scopes(const Contexts& contexts, const Flat& flat) {
  TileScopes scopes;
  std::vector<FlatId> innermost;  // by flat scope: itself, or what it is in
  for (const auto& scope : flat) {
    const FlatId outer = scope.parent == kNone ? kNone : innermost[scope.parent];
    const bool counts = scope.kind == ContextKind::file || scope.kind == ContextKind::module;
    innermost.push_back(counts ? static_cast<FlatId>(innermost.size()) : outer);
    scopes.around.push_back(counts ? outer : kNone);
  }
  scopes.of_context.reserve(contexts.size());
  for (const auto& context : contexts) {
    FlatId scope = kNone;
    if (context.flat != kNone) {
      scope = innermost[context.flat];
    } else if (context.parent != kNone) {
      scope = scopes.of_context[context.parent];
    }
    scopes.of_context.push_back(scope);
  }
  return scopes;
}

/// Collects the exclusive values of consecutive locations and makes a tile of them. Needs memory for one
/// tile: about rows × (4 + 8 × metrics) bytes; reuses it for the next. Local: communicates with nobody; not
/// thread-safe, but several builders may work at once.
class TileBuilder {
 public:
  /// `parents`: the parent of every context, in pre-order (kNone for context 0), the same for all tiles of a
  /// database, and so are `scopes`; `metrics`: how many of the experiment's (the first ones) have values per
  /// thread.
  TileBuilder(std::span<const ContextId> parents, TileScopes scopes, std::size_t metrics);
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
