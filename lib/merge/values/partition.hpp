#pragma once

#include "exchange/communicator.hpp"
#include "merge/attribution/roles.hpp"
#include "merge/input/process_table.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace culprit::merge {

/// Files of a rank and whose threads they hold: those of a tile of the database, consecutive processes. In
/// few pieces: there are as many files as processes.
struct TileFiles {
  std::uint32_t first_location = 0;
  std::string paths;                   ///< of the files, each ended by a zero
  std::vector<std::uint32_t> threads;  ///< per file: how many
  std::vector<std::uint32_t> sums;     ///< Roles::sums of the threads of all files

  /// Calls visit(path, sums of the file's threads) for each file.
  template <class Visit>
  void visit_files(Visit visit) const {
    const char* path = paths.c_str();
    std::size_t first = 0;
    for (const std::uint32_t count : threads) {
      visit(path, std::span(sums).subspan(first, count));
      path += std::char_traits<char>::length(path) + 1;
      first += count;
    }
  }
};

/// A measurement with a time line.
struct TracedFile {
  const char* path = nullptr;
  std::uint32_t threads = 0;
  bool of_rank = false;  ///< of no other are time lines analysed: nobody can have waited for it in MPI
};

/// Which rank of the analysis has which processes, as rank 0 decides. For their values, by tiles of the
/// database, whose bytes therefore do not depend on the number of ranks: in each round every rank gets one
/// tile, in the order of ranks (the last round may not do for all), so that nobody holds more than a tile's
/// files. For their time lines, which stay where they are until all are analysed, by the bytes of these.
class Partition {
 public:
  /// Collective. Rank 0's `processes` and `roles`, which must outlive this.
  Partition(exchange::Communicator& comm, const ProcessTable& processes, const Roles& roles);

  [[nodiscard]] std::uint32_t role_count() const { return all_.role_count; }
  /// Whether any process has a time line.
  [[nodiscard]] bool traced() const { return all_.traced != 0; }
  /// Rank 0: how many files it has itself.
  [[nodiscard]] std::uint64_t files() const { return files_; }

  /// Collective: calls `visit` on every rank in every round, with a tile without files where there is none.
  /// May be called again.
  void for_each_round(const std::function<void(const TileFiles&)>& visit) const;
  /// The rank that has the tile with a location.
  [[nodiscard]] int rank_of(std::uint32_t location) const;

  /// Collective: calls `visit` with each measurement whose time line is this rank's: those of consecutive
  /// processes, which often exchange messages, and about as many bytes of traces on every rank.
  void for_each_traced(const std::function<void(const TracedFile&)>& visit) const;

 private:
  struct ForAll {
    std::uint64_t rounds = 0;
    std::uint32_t role_count = 0, traced = 0;
  };
  void find_tiles();

  exchange::Communicator& comm_;
  const ProcessTable& processes_;
  const Roles& roles_;
  ForAll all_;
  std::uint64_t files_ = 0;
  std::vector<std::uint64_t> tiles_;      ///< rank 0: processes before the end of each
  std::vector<std::uint32_t> locations_;  ///< the first of each tile
  std::uint64_t trace_bytes_ = 0;         ///< rank 0: of all ranks' traces
};

}  // namespace culprit::merge
