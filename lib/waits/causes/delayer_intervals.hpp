#pragma once

#include "exchange/message_exchange.hpp"
#include "storage/hash.hpp"
#include "waits/causes/compared_line.hpp"
#include "waits/causes/interval_profile.hpp"
#include "waits/causes/path_times.hpp"
#include "waits/causes/propagated_cost.hpp"
#include "waits/timeline/event.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace culprit::waits {

/// What a delayer did in an interval.
struct DelayerInterval {
  SideTimes did;                ///< each region once, and behind them each sampled path of a region once
  std::uint32_t regions = 0;    ///< the first this many of `did.times`
  PropagatedCost::Range waits;  ///< that lie in it
  std::uint64_t waits_ns = 0;   ///< how long they are
  std::uint64_t began_ns = 0;   ///< ComparedLine::began_ns() of the delayer

  [[nodiscard]] std::span<const RegionTime> times() const { return did.times.first(regions); }
};

/// Which interval of a delayer explains a wait, as the waiter knows it.
struct IntervalKey {
  EventId cause;
  std::uint64_t context = 0;  ///< of IntervalStart, as the next two
  std::uint32_t other = 0;
  SyncedAs other_as = SyncedAs::waiter;
  bool cause_ends = false;
  std::uint64_t began_ns = 0;  ///< where it has no synchronization point: when the waiter's line began

  IntervalKey(const Wait& wait, std::uint64_t waiter_began_ns)
      : cause(wait.cause),
        context(wait.synced_in),
        other(wait.other),
        other_as(wait.other_as),
        cause_ends(wait.cause_ends),
        began_ns(wait.synced_in == 0 && wait.other == IntervalStart::kBeginning ? waiter_began_ns : 0) {}
  IntervalKey() = default;

  [[nodiscard]] std::size_t hash() const {
    return storage::hash_of(storage::joined(cause.location, cause.index), other);
  }
  friend bool operator==(const IntervalKey&, const IntervalKey&) = default;
};

/// Requests what a delayer did in an interval, which explains this many waits of the rank that requests it.
struct IntervalRequest {
  static constexpr std::uint8_t kMessage = 20;
  IntervalKey interval;
  std::uint32_t waits = 0;
  std::uint32_t number = 0;  ///< among those that are requested together
  int from = 0;
};

/// The answer: encloses the times of the regions, and behind them the samples.
struct IntervalAnswer {
  static constexpr std::uint8_t kMessage = 21;
  using Item = RegionTime;
  std::uint64_t waits_ns = 0;  ///< of DelayerInterval, as the next two
  std::uint64_t began_ns = 0;
  PropagatedCost::Range waits;
  std::uint64_t sample_ns = 0;  ///< of its SideTimes, as the next
  std::uint32_t synced_region = 0;
  std::uint32_t regions = 0;
  std::uint32_t number = 0;  ///< of the request
};

/// The intervals of delayers that explain waits of this rank of the analysis: requested, some thousand at a
/// time, where the delayers' time lines are. All waits that one of them explains share it, as far as they
/// come soon after each other. And the answers to others' requests.
class DelayerIntervals {
 public:
  explicit DelayerIntervals(const Regions& regions)
      : latest_(kLatest, kNone), regions_(regions), profile_(regions) {}

  /// The interval explains one more wait. Returns its number, among those since forget().
  std::uint32_t request(int holder, const IntervalKey& key);
  /// Intervals to be requested.
  [[nodiscard]] std::size_t size() const { return requested_.size(); }
  /// Requests them; what comes then is requested together the next time.
  void send(exchange::MessageExchange& exchange);

  /// Answers for a delayer's time line of this rank; its waits in the interval will get something.
  void answer(const IntervalRequest& request, ComparedLine& line, PropagatedCost& propagated,
              exchange::MessageExchange& exchange);

  void receive(const IntervalAnswer& notice, std::span<const RegionTime> items);
  /// One whose answer is here, until forget().
  [[nodiscard]] DelayerInterval operator[](std::uint32_t number) const;
  /// The answers that are here are of no more use.
  void forget();

 private:
  struct Requested {
    IntervalKey key;
    int holder = 0;
    std::uint32_t waits = 0;
  };
  struct Answer {
    IntervalAnswer notice;
    std::size_t first = 0, items = 0;
  };
  static constexpr std::size_t kLatest = 1024;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  std::vector<Requested> requested_;
  std::uint32_t sent_ = 0;                // the number of the first of them
  std::vector<std::uint32_t> latest_;     // by hash: the number of the one that was requested last
  std::vector<Answer> answers_;           // by number
  std::vector<RegionTime> items_of_all_;  // of all answers

  const Regions& regions_;
  IntervalProfile profile_;
  std::vector<RegionTime> items_;  // kept for its memory
};

}  // namespace culprit::waits
