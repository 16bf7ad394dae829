#pragma once

#include "exchange/communicator.hpp"

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace culprit::merge {

/// A file whose contents were used before it turned out that they must not be.
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

/// Collective: throws FilesLost on every rank where any has lost files.
void give_up_lost(exchange::Communicator& comm, const std::vector<LostFile>& lost);

}  // namespace culprit::merge
