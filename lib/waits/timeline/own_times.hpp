#pragma once

#include "waits/timeline/line_times.hpp"
#include "waits/timeline/path_shares.hpp"
#include "waits/timeline/rank_map.hpp"
#include "waits/timeline/regions.hpp"
#include "waits/timeline/trace_store.hpp"

#include <array>
#include <bit>
#include <cstddef>
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

// How long a single sample of a time line stands for.

/// The lengths of a time line's samples, inside MPI calls and outside. A sample of a sleep is many in one:
/// where a program mostly sleeps, only those inside calls show what a single one is; where it hardly calls
/// MPI, too, those of other lines do (single_of_run()).
class SampleLengths {
 public:
  void add(std::uint64_t ns) {
    Alike& alike = by_bits_.at(static_cast<std::size_t>(std::bit_width(ns)));
    ++alike.samples;
    alike.ns += ns;
    ++all_;
  }

  /// ns: the mean of the shortest tenth, about, as the period may have changed; 0 without samples.
  [[nodiscard]] std::uint64_t single() const {
    std::uint64_t shorter = 0, ns = 0;
    for (auto one = by_bits_.begin(); 10 * shorter < all_; ++one) {
      shorter += one->samples;
      if (one->samples != 0) ns = one->ns / one->samples;
    }
    return ns;
  }

 private:
  struct Alike {
    std::uint64_t samples = 0, ns = 0;
  };
  std::array<Alike, 65> by_bits_{};
  std::uint64_t all_ = 0;
};

/// What a single sample of a line stands for, of which SampleLengths::single() says `own_ns`, where at the
/// line's rate the smallest of all lines would be `least_ns`: beside that, rates differ a little, and sleeps
/// are many times as long.
constexpr std::uint64_t single_of_run(std::uint64_t own_ns, std::uint64_t least_ns) {
  constexpr std::uint64_t kSleeps = 4;
  return own_ns / kSleeps > least_ns ? least_ns : own_ns;
}

}  // namespace culprit::waits
