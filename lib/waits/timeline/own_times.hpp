#pragma once

#include "waits/timeline/line_times.hpp"
#include "waits/timeline/path_shares.hpp"
#include "waits/timeline/rank_map.hpp"
#include "waits/timeline/regions.hpp"
#include "waits/timeline/trace_store.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace culprit::waits {

/// What a call path took, waits left out.
struct OwnTime {
  PathOfRegion path;  ///< `region` says where nothing was sampled, else it is the default one
  std::uint64_t ns = 0;
};

/// Over the first time lines of this rank's processes together: by call path, in order, divided just as the
/// critical path is, so that the two can be compared.
class OwnTimes {
 public:
  OwnTimes(const RankMap& rank_map, const Regions& regions) : rank_map_(rank_map), regions_(regions) {}

  /// A classified time line, and what it took; of no interest is which comes first.
  void add(const TimeLine& line, const LineTimes& times);
  [[nodiscard]] std::vector<OwnTime> take() const;

 private:
  const RankMap& rank_map_;
  const Regions& regions_;
  std::map<PathOfRegion, std::uint64_t> sums_;
};

/// The path by which such times are added up: regions are distinguished only where there is no call path.
PathOfRegion summed_path(const PathOfRegion& path);

/// What this rank's time lines spent in each call path, waits left out: by samples where there are no calls,
/// and by the calls' own stamps.
class ContextTimes {
 public:
  /// A classified time line, and what it took.
  void add(const TimeLine& line, const LineTimes& times, const Regions& regions);
  /// In ns, by call path of the united tree.
  [[nodiscard]] const std::vector<std::uint64_t>& all() const { return times_; }

 private:
  void add(std::uint32_t context, std::uint64_t ns) {
    if (context >= times_.size()) times_.resize(context + 1, 0);
    times_[context] += ns;
  }

  std::vector<std::uint64_t> times_;
};

}  // namespace culprit::waits
