#pragma once

#include "waits/causes/interval_profile.hpp"
#include "waits/timeline/regions.hpp"
#include "waits/timeline/trace_store.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <tsl/robin_map.h>

namespace culprit::waits {

/// A classified time line with all that it takes to compare its synchronization intervals with others': as
/// that of a waiter, and as that of whom others waited for. It refers to the line and the regions, which must
/// outlive it.
class ComparedLine {
 public:
  ComparedLine(const TimeLine& line, const Regions& regions, storage::Spill& spill)
      : line_(&line), regions_(&regions), spill_(&spill) {}

  [[nodiscard]] const TimeLine& line() const { return *line_; }
  /// When its first call was entered. A line has one at least.
  [[nodiscard]] std::uint64_t began_ns() const { return line_->events.together(0).front().enter_ns; }
  /// As the cause, in call `until`, of another line's wait, which knows its interval by `start`. That line
  /// began at `began_ns`.
  Interval of_cause(const IntervalStart& start, std::uint32_t until, bool through, std::uint64_t began_ns);
  /// Of a wait of this line, whose cause's line began at `began_ns`.
  [[nodiscard]] Interval of_wait(const Wait& wait, std::uint64_t began_ns) const;
  /// Adds what the line did in the interval (IntervalProfile::add()); nothing where that begins after its
  /// end.
  void add(const Interval& interval, IntervalProfile& profile);
  /// The region itself where one of add(interval, …) is what is left of a call.
  [[nodiscard]] std::uint32_t known_region(std::uint32_t region, const Interval& interval) const {
    return region == regions_->synced() ? regions_->of_call(line_->events[interval.first - 1].context)
                                        : region;
  }
  /// Which of the line's waits lie in it: the first, and one past the last.
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> waits(const Interval& interval) const;

 private:
  struct Collective {
    std::uint64_t context = 0;
    std::uint32_t instance = 0;
    friend bool operator==(const Collective&, const Collective&) = default;
  };
  struct Hash {
    std::size_t operator()(const Collective& key) const {
      return storage::hash_of(key.context, key.instance);
    }
  };
  /// From the synchronization point in `call` on, or from where both lines have begun.
  [[nodiscard]] Interval since(std::uint32_t call, SyncedAs as, std::uint64_t other_began_ns) const;
  [[nodiscard]] std::uint32_t waits_before(std::uint32_t call) const;
  std::uint32_t call_in(const Collective& collective, std::uint32_t until);

  const TimeLine* line_;
  const Regions* regions_;
  storage::Spill* spill_;
  std::size_t ahead_ = 0;          // of where its instance would be, was the last one found; modulo 2^64
  std::size_t collective_at_ = 0;  // where the last one was looked for
  std::size_t steps_ = 0;          // that looking took
  tsl::robin_map<Collective, std::uint32_t, Hash> all_calls_;  // once it took too many
  /// Sums are made once long intervals have had this part of the line gone through.
  static constexpr std::size_t kWorthSums = 4;
  std::size_t gone_through_ = 0;    // calls, of long intervals
  std::unique_ptr<LongLine> sums_;  // once they are worth it
};

}  // namespace culprit::waits
