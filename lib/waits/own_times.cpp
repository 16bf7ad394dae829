#include "waits/own_times.hpp"

#include "waits/interval_profile.hpp"

#include <map>

namespace culprit::waits {

PathOfPiece summed_path(const PathOfPiece& path) {
  return path.context == PathOfPiece::kBetween ? path : PathOfPiece{.context = path.context, .piece = {}};
}

std::vector<OwnTime> own_times(const Roster& roster, const Forward& forward) {
  std::map<PathOfPiece, std::uint64_t> sums;
  IntervalProfile profile(forward.pieces);
  for (const TimeLine& line : forward.ledger.lines()) {
    if (line.events.empty() || roster.location_of(roster.rank_of(line.location), 0) != line.location)
      continue;
    profile.clear();
    const auto calls = static_cast<std::uint32_t>(line.events.size());
    profile.add(line, 0, calls - 1);
    profile.add_gap(line, calls - 1);
    profile.merge_samples();
    std::map<std::uint32_t, std::map<std::uint32_t, std::uint64_t>> weights;
    for (const PieceTime& time : profile.samples()) weights[time.piece][time.context] += time.ns;
    for (const PieceTime& time : profile.wholes()) {
      for (const PathShare& part :
           divide_over_paths(forward.pieces[time.piece], weights[time.piece], {time.ns}))
        sums[summed_path(part.path)] += part.amounts[0];
    }
  }
  std::vector<OwnTime> list;
  list.reserve(sums.size());
  for (const auto& [path, ns] : sums) list.push_back({path, ns});
  return list;
}

}  // namespace culprit::waits
