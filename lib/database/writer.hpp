#pragma once

#include "database/database.hpp"
#include "database/tile.hpp"
#include "database/tile_values.hpp"
#include "exchange/communicator.hpp"
#include "files/readership.hpp"

#include <filesystem>
#include <memory>
#include <span>

namespace culprit::database {

/// Writes a database in parallel and in one pass: first the per-thread values, tile by tile, then the rest
/// from rank 0. Every member is collective unless it says otherwise. The file grows under a temporary name
/// beside `path`, its owner's alone, and is renamed by finish(); without finish() the temporary file is
/// removed, also if the process dies. Bytes do not depend on the number of ranks, as long as the tiles do
/// not. What fails on one rank throws on all: files::WriteFailure there where a write fails, std::logic_error
/// or std::invalid_argument where the caller broke the contract; std::runtime_error elsewhere.
///     Writer writer(comm, path);
///     for (each round) writer.place_tiles(mine);        // tile after tile in the order of locations;
///                                                       // write_placed() at leisure
///     const TileValues& values = writer.end_tiles();    // to look values up again
///     writer.add_experiment(experiment);
///     writer.finish();
class Writer {
 public:
  Writer(exchange::Communicator& comm, const std::filesystem::path& path);
  ~Writer();

  /// The next round of tiles: rank 0's, then rank 1's, ... follow those of the rounds before. A rank may have
  /// none. They must stay as they are until write_placed(). Costs one scan and one gather of 32 bytes per
  /// tile.
  void place_tiles(std::span<const Tile> tiles);

  /// Not collective: writes what this rank placed last, unless it is written. When, is the caller's choice: a
  /// file system lets one rank in at a time, so ranks that all write at once wait for each other. Throws
  /// files::WriteFailure. Whatever comes next does it otherwise.
  void write_placed();

  /// No more tiles. Every rank gets what it takes to look up per-thread values in the file that is being
  /// written (blame needs some). Valid as long as this. add_experiment() ends the tiles itself where this was
  /// not called.
  const TileValues& end_tiles(std::span<const ContextId> parents, std::size_t metrics);

  /// Gives back the memory of what this rank looked at through end_tiles()' result, which remains usable.
  void release_values() const;

  /// Rank 0: the rest (others' arguments are ignored). The tiles must hold as many locations as it has.
  /// `locations`: where they are not in the experiment, but too many for that.
  void add_experiment(const Experiment& experiment, const EachLocation& locations = {});

  /// Table of sections, checksums, rename. `readers` (rank 0's counts): who may read what went into it; the
  /// process's mask of modes is kept, too. Rank 0 learns whether that took permissions away that the mask
  /// leaves.
  bool finish(const files::Readership& readers = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace culprit::database
