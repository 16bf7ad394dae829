#pragma once

#include "waits/states/matching_pass.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace culprit::waits {

/// What was read, and how well the clocks of several hosts agreed.
struct CausallyMatched {
  Matched matched;
  /// Receives that were complete before their send began: as recorded, and where that could not be mended.
  /// This rank's share.
  std::uint64_t violations = 0, left = 0;
};

/// Collective: match_traces(); and where receives precede their sends by the clocks, once more with those
/// pushed forward (push_forward.hpp), and so on while that makes others do so, kPasses times at most. On one
/// host that never happens. `begin`: called before each reading.
CausallyMatched read_in_causal_order(exchange::Communicator& analysis, const RankMap& rank_map,
                                     std::span<const std::unique_ptr<ProcessTrace>> own,
                                     const Observer& observer = {}, const MatchingOptions& options = {},
                                     const std::function<void()>& begin = {});

}  // namespace culprit::waits
