#pragma once

#include "storage/hash.hpp"
#include "waits/causes/interval_profile.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tsl/robin_map.h>

namespace culprit::waits {

/// Whose time it is in a synchronization interval.
enum class Side : std::uint32_t { delayer, waiter };

/// What one side took over many intervals, each weighted with the cost that it explains (docs/algorithms.md
/// 8): the exact time of a gap or call, or what was sampled in a gap of one call path.
struct PathTime {
  std::uint32_t region = 0;
  std::uint32_t context = RegionTime::kWhole;  ///< of samples
  Side side = Side::delayer;
  std::uint32_t unused = 0;    ///< sent as it is
  std::uint64_t ns = 0;        ///< weighted
  std::uint64_t variance = 0;  ///< of samples: the sum of the squares of what each stands for, in µs²
};

/// What one side did in one interval.
struct SideTimes {
  std::span<const RegionTime> times;  ///< exact ones and sampled ones
  std::uint32_t synced_region = 0;    ///< the call that Regions::synced() stands for
  std::uint64_t sample_ns = 0;        ///< TimeLine::sample_ns
};

/// a + b, or the largest number: the same in any order.
constexpr std::uint64_t added(std::uint64_t a, std::uint64_t b) {
  return a > ~b ? ~std::uint64_t{0} : a + b;
}

/// A weight: a part of a whole.
struct Weight {
  std::uint64_t part = 0, whole = 1;
};

/// Such sums for many accounts, which are numbered from 0. The order of adding does not matter. Cost: a hash
/// look-up per region and sampled path of an interval; some 60 bytes for each that there is.
class PathTimes {
 public:
  /// `synced`: Regions::synced().
  explicit PathTimes(std::uint32_t synced) : synced_(synced), seen_(kSeen) {}

  /// What one side did in an interval that explains a wait of weight `weight`.
  void add(std::uint32_t account, Side side, const SideTimes& did, const Weight& weight);
  /// What was added elsewhere.
  void add(std::uint32_t account, const PathTime& time);

  [[nodiscard]] std::size_t size() const { return sums_.size(); }
  void clear();

  /// All sums, in the order of accounts, then regions, sides and call paths.
  struct Sorted {
    std::vector<std::size_t> first;  ///< by account; one more at the end
    std::vector<PathTime> times;
    [[nodiscard]] std::span<const PathTime> of(std::uint32_t account) const {
      return std::span(times).subspan(first[account], first[account + 1] - first[account]);
    }
  };
  [[nodiscard]] Sorted sorted(std::uint32_t accounts) const;

 private:
  struct Key {
    std::uint64_t account_region = 0;
    std::uint64_t side_context = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return storage::hash_of(key.account_region, key.side_context);
    }
  };
  /// The sum of one of these hashes that was added to last.
  struct Seen {
    Key key;
    std::uint32_t sum = ~std::uint32_t{0};
  };
  struct Sum {
    Key key;
    std::uint64_t ns = 0, variance = 0;
  };
  static constexpr std::size_t kSeen = 4096;

  Sum& sum(std::uint32_t account, Side side, std::uint32_t region, std::uint32_t context);

  std::uint32_t synced_;
  tsl::robin_map<Key, std::uint32_t, Hash> numbers_;
  std::vector<Sum> sums_;
  std::vector<Seen> seen_;
};

}  // namespace culprit::waits
