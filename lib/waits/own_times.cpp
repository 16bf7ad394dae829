#include "waits/own_times.hpp"

namespace culprit::waits {

PathOfPiece summed_path(const PathOfPiece& path) {
  return path.context == PathOfPiece::kBetween ? path : PathOfPiece{.context = path.context, .piece = {}};
}

void OwnTimes::add(const TimeLine& line) {
  const bool first = roster_.location_of(roster_.rank_of(line.location), 0) == line.location;
  if (line.events.empty() || !first) return;
  profile_.clear();
  const auto calls = static_cast<std::uint32_t>(line.events.size());
  profile_.add(line, 0, calls - 1);
  profile_.add_gap(line, calls - 1);
  profile_.merge_samples();
  std::map<std::uint32_t, std::map<std::uint32_t, std::uint64_t>> weights;
  for (const PieceTime& time : profile_.samples()) weights[time.piece][time.context] += time.ns;
  for (const PieceTime& time : profile_.wholes()) {
    for (const PathShare& part : divide_over_paths(pieces_[time.piece], weights[time.piece], {time.ns}))
      sums_[summed_path(part.path)] += part.amounts[0];
  }
}

std::vector<OwnTime> OwnTimes::take() const {
  std::vector<OwnTime> list;
  list.reserve(sums_.size());
  for (const auto& [path, ns] : sums_) list.push_back({path, ns});
  return list;
}

}  // namespace culprit::waits
