#pragma once

#include "waits/timeline/line_times.hpp"
#include "waits/timeline/regions.hpp"
#include "waits/timeline/trace_store.hpp"

#include <cstdint>
#include <vector>

namespace culprit::waits {

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
