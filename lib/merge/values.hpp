#pragma once

#include "cct/canonical.hpp"
#include "database/writer.hpp"
#include "exchange/communicator.hpp"
#include "merge/accumulate.hpp"
#include "merge/process_summary.hpp"
#include "merge/roles.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace culprit::merge {

/// This rank's files in the second pass, and whose threads they hold. They are dealt out by tiles of the
/// database: consecutive processes, whose bytes therefore do not depend on the number of ranks. In each round
/// every rank has one tile, in the order of ranks (the last round may not do for all).
struct Share {
  /// In few pieces: there are as many files as processes.
  struct Tile {
    std::uint32_t first_location = 0;
    std::uint32_t traced = 0;            ///< whether any process has a time line
    std::string paths;                   ///< of the files, each ended by a zero
    std::vector<std::uint32_t> threads;  ///< per file: how many
    std::vector<std::uint32_t> roles;    ///< per thread of all files

    /// Calls visit(path, roles of the file's threads) for each file.
    template <class Visit>
    void visit_files(Visit visit) const {
      const char* path = paths.c_str();
      std::size_t first = 0;
      for (const std::uint32_t count : threads) {
        visit(path, std::span(roles).subspan(first, count));
        path += std::char_traits<char>::length(path) + 1;
        first += count;
      }
    }
  };
  std::vector<Tile> rounds;  ///< as many on every rank; without files where there is no tile
  std::uint32_t role_count = 0;

  [[nodiscard]] std::size_t files() const;
};

/// Collective: rank 0 deals out `processes`.
Share deal(exchange::Communicator& comm, std::span<const ProcessSummary> processes, const Roles& roles);

/// A file that could be read in the first pass, but not in the second.
struct LostFile {
  std::string path;
  std::string why;  ///< path: why (what to do)
};

/// What was accumulated and written is worth nothing, since some files were lost meanwhile. To be merged
/// again without them.
struct FilesLost : std::runtime_error {
  explicit FilesLost(std::vector<LostFile> lost)
      : std::runtime_error("reading: " + lost.at(0).why), files(std::move(lost)) {}
  std::vector<LostFile> files;  ///< of all ranks
};

/// Collective: second pass over the input. Rereads this rank's files, accumulates their values, one thread at
/// a time, and writes each round's tiles (`writer` null: nothing). Throws FilesLost on every rank where some
/// can no longer be read.
void accumulate_values(exchange::Communicator& comm, const Share& share, const cct::SharedTree& shared,
                       const Shape& shape, ThreadAccumulation& accumulation, database::Writer* writer,
                       const std::function<void()>& step);

}  // namespace culprit::merge
