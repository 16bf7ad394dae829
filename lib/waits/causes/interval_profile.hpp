#pragma once

#include "storage/hash.hpp"
#include "storage/sequence.hpp"
#include "waits/timeline/regions.hpp"
#include "waits/timeline/trace_store.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tsl/robin_map.h>

namespace culprit::waits {

/// Time and sampled time of one region.
struct RegionTime {
  std::uint32_t region = 0;        ///< its number
  std::uint32_t context = kWhole;  ///< of samples in it; kWhole: the region's own, exact time
  std::uint64_t ns = 0;
  static constexpr std::uint32_t kWhole = ~std::uint32_t{0};
};

/// A while of one time line: from a synchronization point with another one to the end of a wait of either.
struct Interval {
  std::uint32_t first = 0;                ///< the call after that in which they synchronized
  SyncedAs synced_as = SyncedAs::waiter;  ///< there; of no interest where there is none (first is 0)
  std::uint32_t until = 0;                ///< a call: the interval ends when that is entered,
  bool through = false;                   ///< or left
};

/// What a time line did in a while, waits left out: by region, and what was sampled in gaps. Used again and
/// again: it neither sorts nor looks up anything.
class IntervalProfile {
 public:
  explicit IntervalProfile(const Regions& regions)
      : all_(regions), slots_(regions.size()), regions_(regions.size()) {}

  void clear() {
    count_ = 0;
    samples_.clear();
    if (++round_ == 0) start_rounds();
  }
  void add(const RegionTime& time) {
    if (time.context == RegionTime::kWhole) {
      add(time.region, time.ns);
    } else {
      samples_.push_back(time);
    }
  }
  void add(std::uint32_t region, std::uint64_t ns) {
    Adding one = adding();
    one.add(region, ns);
    added(one);
  }
  /// What the line did in the interval, and what is left of the call before it, in which the two
  /// synchronized, which is all but its wait: they did when the later one came, and whichever then takes
  /// longer to leave starts late. The line has the call in which it ends, which may be the one before
  /// `first`.
  void add(const TimeLine& line, const Interval& interval);

  /// Adds up the samples of one region and path, so that shares of them do not depend on whether they came
  /// one by one.
  void merge_samples() {
    if (samples_.size() > 1) merge_several_samples();
  }

  /// Each region once, in the order in which they were added; samples may come more than once until they are
  /// merged.
  [[nodiscard]] std::span<const std::uint32_t> regions() const { return std::span(regions_).first(count_); }
  [[nodiscard]] const std::vector<RegionTime>& samples() const { return samples_; }
  /// The time of a region; 0 where it is none of regions().
  [[nodiscard]] std::uint64_t of(std::uint32_t region) const {
    return slots_[region].round == round_ ? slots_[region].ns : 0;
  }

 private:
  struct Slot {
    std::uint64_t ns = 0;
    std::uint32_t round = 0;
  };
  /// What adds times one after the other: apart, so that where they go need not be read again for each.
  struct Adding {
    Slot* slots = nullptr;
    std::uint32_t round = 0;
    std::uint32_t* regions_end = nullptr;

    void add(std::uint32_t region, std::uint64_t ns) {
      Slot& slot = slots[region];
      if (slot.round == round) {
        slot.ns += ns;
        return;
      }
      slot.round = round;
      slot.ns = ns;
      *regions_end++ = region;
    }
  };
  /// A gap that holds samples.
  struct SampledGap {
    std::uint32_t call = 0;  // that ends it
    std::uint32_t region = 0;
  };
  /// A call whose wait is known from elsewhere.
  struct LongCall {
    std::uint32_t region = 0;
    std::uint32_t wait = 0;  // which of the line's that is
    std::uint64_t ns = 0;    // the call, wait included
  };

  [[nodiscard]] Adding adding() { return {slots_.data(), round_, regions_.data() + count_}; }
  void added(const Adding& adding) {
    count_ = static_cast<std::size_t>(adding.regions_end - regions_.data());
  }
  void start_rounds();
  void merge_several_samples();
  [[gnu::always_inline]] void add_gap(Adding& to, std::uint32_t call, const Event& event,
                                      std::uint64_t before_ns);
  [[gnu::always_inline]] void add_call(Adding& to, const Event& event, std::uint32_t region);
  // Rare: apart, so that what is frequent stays in registers.
  [[gnu::noinline]] void defer(const SampledGap& gap) { sampled_gaps_.push_back(gap); }
  [[gnu::noinline]] void defer(const LongCall& call) { long_calls_.push_back(call); }
  void add_deferred(const TimeLine& line);

  const Regions& all_;
  std::uint32_t round_ = 1;
  std::vector<Slot> slots_;             // by region: its time, if it is of this round
  std::vector<std::uint32_t> regions_;  // the first of them are those of this round
  std::size_t count_ = 0;               // this many
  std::vector<RegionTime> samples_;
  // Of what is being added: what takes other sequences than the events.
  std::vector<SampledGap> sampled_gaps_;
  std::vector<LongCall> long_calls_;
};

/// What a long time line did from its beginning up to some of its calls, so that a long while of it is the
/// difference of two such sums and need not be gone through. A sum is as many numbers as there were regions
/// and sampled paths up to there, eight together; those eight that did not change since the sum before are
/// shared with it, so that time is judged by what happened in it.
class LongLine {
 public:
  /// Whiles of fewer calls are gone through.
  static constexpr std::uint32_t kLong = 64;

  LongLine(const TimeLine& line, const Regions& regions, storage::Spill& spill);

  /// What IntervalProfile::add() would add to the profile.
  void add(const Interval& interval, IntervalProfile& profile) const;

 private:
  static constexpr std::uint32_t kCalls = 16;  ///< between two sums, at least
  static constexpr std::size_t kTogether = 8;
  using Together = std::array<std::uint64_t, kTogether>;
  /// Up to before call `until`.
  struct Sum {
    std::uint32_t until = 0;
    std::uint32_t count = 0;  ///< of what is numbered there, by eights
    std::uint64_t first = 0;  ///< where those are, in `shared_`
  };
  struct Key {
    std::uint32_t region = 0, context = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return storage::hash_of(storage::joined(key.region, key.context));
    }
  };

  void add(const RegionTime& time);
  void close_sum(std::uint32_t until);
  void add_difference(const Sum& from, const Sum& to, IntervalProfile& profile) const;

  const TimeLine& line_;
  tsl::robin_map<Key, std::uint32_t, Hash> numbers_;  // of regions and paths
  std::vector<Key> keys_;                             // by number
  std::vector<Together> last_;                        // the last sum, as far as it is known
  std::vector<std::uint32_t> places_;                 // of its eights in `stored_`; or kChanged
  storage::Sequence<Together> stored_;
  storage::Sequence<std::uint32_t> shared_;  // places in `stored_`, by sum
  std::vector<Sum> sums_;
  std::vector<std::uint32_t> sum_before_;  // by kCalls calls: the last sum up to their first
  static constexpr std::uint32_t kChanged = ~std::uint32_t{0};
};

}  // namespace culprit::waits
