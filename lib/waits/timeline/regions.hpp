#pragma once

#include "exchange/communicator.hpp"
#include "storage/hash.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <tsl/robin_map.h>

namespace culprit::waits {

/// A region of a time line that can be compared with the same region of another one: the gap between two
/// calls, by the call paths of both, or, with kCall as `next`, a call itself by its path.
struct Region {
  static constexpr std::uint32_t kCall = ~std::uint32_t{0};
  static constexpr std::uint32_t kStart = kCall - 1;  ///< as `previous`: before the first call
  static constexpr std::uint32_t kSynced =
      kCall - 2;  ///< as `previous` of a call: that in which the two synchronized
  std::uint32_t previous = 0, next = 0;

  friend auto operator<=>(const Region&, const Region&) = default;  // NOLINT(modernize-use-nullptr)
};

/// Numbers the regions that occur, as they do. A program has few, however long it runs.
class RegionNumbers {
 public:
  std::uint32_t number(const Region& region) {
    const std::uint64_t key = storage::joined(region.previous, region.next);
    Seen& seen = seen_[storage::hash_of(key) % kSeen];
    if (seen.key == key) return seen.number;
    const auto [entry, added] = numbers_.try_emplace(key, static_cast<std::uint32_t>(regions_.size()));
    if (added) regions_.push_back(region);
    seen = {key, entry->second};
    return entry->second;
  }
  /// By number.
  [[nodiscard]] const std::vector<Region>& regions() const { return regions_; }

 private:
  struct Hash {
    std::size_t operator()(std::uint64_t key) const { return storage::hash_of(key); }
  };
  /// The one of these hashes that was asked for last: mostly the same few come again and again.
  struct Seen {
    std::uint64_t key = storage::joined(Region::kCall, Region::kCall);
    std::uint32_t number = 0;
  };
  static constexpr std::size_t kSeen = 256;
  std::vector<Seen> seen_ = std::vector<Seen>(kSeen);
  tsl::robin_map<std::uint64_t, std::uint32_t, Hash> numbers_;
  std::vector<Region> regions_;
};

/// The regions of all time lines, numbered in their order: the same on all ranks of the analysis.
class Regions {
 public:
  Regions() = default;
  /// Collective. `own` are the gaps that this rank found.
  Regions(exchange::Communicator& analysis, const RegionNumbers& own);

  [[nodiscard]] std::size_t size() const { return all_.size(); }
  [[nodiscard]] const Region& operator[](std::uint32_t number) const { return all_[number]; }
  /// The number of a gap that is own.regions()[gap].
  [[nodiscard]] std::uint32_t of_gap(std::uint32_t gap) const { return of_gap_[gap]; }
  /// The number of what is left of a call in which two time lines synchronized, whatever the two calls are.
  [[nodiscard]] std::uint32_t synced() const { return synced_; }
  /// The number of a call with this path.
  [[nodiscard]] std::uint32_t of_call(std::uint32_t context) const { return of_call_[context]; }

 private:
  std::vector<Region> all_;
  std::uint32_t synced_ = 0;
  std::vector<std::uint32_t> of_gap_;
  std::vector<std::uint32_t> of_call_;  // by context: those of the united tree are dense
};

}  // namespace culprit::waits
