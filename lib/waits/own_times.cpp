#include "waits/own_times.hpp"

#include <map>

namespace culprit::waits {

PathOfPiece summed_path(const PathOfPiece& path) {
  return path.context == PathOfPiece::kBetween ? path : PathOfPiece{.context = path.context, .piece = {}};
}

std::vector<OwnTime> own_times(const Roster& roster, const Forward& forward) {
  std::map<PathOfPiece, std::uint64_t> sums;
  for (const TimeLine& line : forward.ledger.lines()) {
    if (line.events.empty() || roster.location_of(roster.rank_of(line.location), 0) != line.location)
      continue;
    const std::vector<PieceTime> times = profile(line, wait_by_call(line), IntervalStart::kBeginning,
                                                 static_cast<std::uint32_t>(line.events.size() - 1));
    // Of each piece the samples come first, its whole time last.
    std::map<std::uint32_t, std::uint64_t> weights;
    for (const PieceTime& time : times) {
      if (time.context != PieceTime::kWhole) {
        weights[time.context] += time.ns;
        continue;
      }
      for (const PathShare& part : divide_over_paths(time.piece, weights, {time.ns}))
        sums[summed_path(part.path)] += part.amounts[0];
      weights.clear();
    }
  }
  std::vector<OwnTime> list;
  for (const auto& [path, ns] : sums) list.push_back({path, ns});
  return list;
}

}  // namespace culprit::waits
