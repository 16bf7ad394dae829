#pragma once

#include "exchange/communicator.hpp"
#include "waits/forward.hpp"
#include "waits/roster.hpp"

#include <cstdint>
#include <vector>

namespace culprit::waits {

/// All waits of one call path of a time line by one pattern, because of one call path of another.
struct WaitSum {
  Pattern pattern = Pattern::none;
  Location location = kNoLocation, cause = kNoLocation;
  std::uint32_t context = 0, cause_context = 0;  ///< of the united tree
  std::uint64_t ns = 0, count = 0;
};

/// Collective: parts and completions included. This rank's share: the waits that its own time lines caused,
/// in the order of the fields. Takes about `waits_per_round` at a time, all ranks together.
std::vector<WaitSum> sum_waits(exchange::Communicator& analysis, const Roster& roster, const Forward& forward,
                               std::uint64_t waits_per_round = 1 << 18);

}  // namespace culprit::waits
