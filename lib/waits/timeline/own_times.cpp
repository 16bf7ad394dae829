// What each call path of a time line took without waits (docs/algorithms.md 8.1), divided as the critical
// path is.
#include "waits/timeline/own_times.hpp"

namespace culprit::waits {

PathOfRegion summed_path(const PathOfRegion& path) {
  return path.context == PathOfRegion::kBetween ? path : PathOfRegion{.context = path.context, .region = {}};
}

void OwnTimes::add(const TimeLine& line, const LineTimes& times) {
  const bool first = rank_map_.location_of(rank_map_.rank_of(line.location), 0) == line.location;
  if (line.events.empty() || !first) return;
  std::map<std::uint32_t, std::map<std::uint32_t, std::uint64_t>> weights;
  for (const LineTimes::Sampled& one : times.samples()) weights[one.region][one.context] += one.ns;
  for (const std::uint32_t region : times.found()) {
    for (const PathShare& part : divide_over_paths(regions_[region], weights[region], {times.of(region)}))
      sums_[summed_path(part.path)] += part.amounts[0];
  }
}

std::vector<OwnTime> OwnTimes::take() const {
  std::vector<OwnTime> list;
  list.reserve(sums_.size());
  for (const auto& [path, ns] : sums_) list.push_back({path, ns});
  return list;
}

void ContextTimes::add(const TimeLine& line, const LineTimes& times, const Regions& regions) {
  line.samples.go_through([this](const Sample& sample) { add(sample.context, sample.ns); });
  for (const std::uint32_t number : times.found()) {
    const Region& region = regions[number];
    if (region.next == Region::kCall) add(region.previous, times.of(number));
  }
  if (!line.events.empty()) add(times.last_call_context(), times.last_call_ns());
}

}  // namespace culprit::waits
