#pragma once

#include "waits/forward.hpp"
#include "waits/path_shares.hpp"
#include "waits/roster.hpp"

#include <cstdint>
#include <vector>

namespace culprit::waits {

/// What a call path took, waits left out.
struct OwnTime {
  PathOfPiece path;  ///< `piece` tells where nothing was sampled, else it is the default one
  std::uint64_t ns = 0;
};

/// Over the first time lines of this rank's processes together: by call path, in order, divided just as the
/// critical path is, so that the two can be compared.
std::vector<OwnTime> own_times(const Roster& roster, const Forward& forward);

/// The path by which such times are added up: pieces are told apart only where there is no call path.
PathOfPiece summed_path(const PathOfPiece& path);

}  // namespace culprit::waits
