#pragma once

#include "exchange/communicator.hpp"
#include "exchange/message_exchange.hpp"
#include "waits/causes/compared_line.hpp"
#include "waits/causes/delayer_intervals.hpp"
#include "waits/causes/interval_profile.hpp"
#include "waits/causes/propagated_cost.hpp"
#include "waits/states/matching_pass.hpp"
#include "waits/timeline/event.hpp"
#include "waits/timeline/rank_map.hpp"
#include "waits/timeline/round_length.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace culprit::waits {

/// What a wait, and what was passed on to it, leaves to the waits of its delayer: one of as many as were
/// announced.
struct PassedOnNotice {
  static constexpr std::uint8_t kMessage = 22;
  Location delayer = kNoLocation;
  PropagatedCost::Range waits;
  std::uint64_t ns = 0;
};

/// All waits, backwards, in rounds of all ranks of the analysis. In each round it brings what the waits'
/// delayers did, and has the waits passed on from effect to cause, wherever these are.
class WaitRounds {
 public:
  using Received = exchange::MessageList<IntervalRequest, IntervalAnswer, PassedOnNotice>;
  /// Called with a wait of this rank, by its number in the round, once the interval of its delayer is here.
  using Explain = std::function<void(std::size_t)>;
  /// Called with a wait, when all is here that will be passed on to it, and with that. Returns what falls to
  /// the waits of its delayer.
  using Divide = std::function<std::uint64_t(std::size_t, std::uint64_t passed_ns)>;

  /// `waits_per_round`, `intervals_together`: of DelayOptions.
  WaitRounds(exchange::Communicator& analysis, const RankMap& rank_map, const Matched& matched,
             std::uint64_t waits_per_round, std::size_t intervals_together);

  /// Collective: turns to the next round. False: there are no more waits.
  bool next();
  /// Collective: has all waits of the round explained, in the order of their numbers.
  void explain(const Explain& explain);
  /// Collective, then: has all of them divided.
  void pass_on(const Divide& divide);

  /// A wait of the round; the line that it is on; and what its delayer did.
  [[nodiscard]] Wait wait(std::size_t number) const {
    const Listed& one = listed_[number];
    return lines_[one.line].compared.line().waits[one.index];
  }
  [[nodiscard]] ComparedLine& line(std::size_t number) { return lines_[listed_[number].line].compared; }
  [[nodiscard]] DelayerInterval delayer(std::size_t number) const {
    return intervals_[listed_[number].interval];
  }

  /// When all waits were passed on: what fell to waits that were passed on before, to which only
  /// contradictory clocks can lead.
  [[nodiscard]] std::uint64_t contradictory_ns() const;

  void receive(const IntervalRequest& notice);
  void receive(const IntervalAnswer& notice, std::span<const RegionTime> items) {
    intervals_.receive(notice, items);
  }
  void receive(const PassedOnNotice& notice);

 private:
  struct Line {
    Line(const TimeLine& line, const Regions& regions, storage::Spill& spill)
        : compared(line, regions, spill),
          propagated(line),
          next(static_cast<std::uint32_t>(line.waits.size())) {}
    ComparedLine compared;
    PropagatedCost propagated;
    std::uint32_t next = 0;        // one past the wait that is next, backwards
    Wait latest;                   // that one
    std::uint32_t listed = 0;      // where those of this round begin
    std::uint32_t listed_end = 0;  // and end, in the list
  };
  /// A wait of this round, on its way to be passed on.
  struct Listed {
    std::uint32_t line = 0, index = 0;  // on the line
    std::uint32_t interval = 0;         // the number of the delayer's
    Location delayer = kNoLocation;
  };

  [[nodiscard]] Line& line_of(Location location) { return lines_[store_.index_of(location)]; }
  static void find_latest(Line& line);
  [[nodiscard]] std::uint64_t latest_wait();
  void list(std::uint32_t at);
  void pass_on(std::size_t number);
  void pass_on_ready(const Line& own);

  exchange::Communicator& analysis_;
  const RankMap& rank_map_;
  const TraceStore& store_;
  std::uint64_t waits_per_round_ = 0;
  std::size_t intervals_together_ = 0;
  exchange::MessageExchange exchange_;
  RoundLength length_;
  std::vector<Line> lines_;  // as in the store
  std::uint64_t late_ns_ = 0;
  // Of this round.
  std::uint64_t since_ = 0;  // it has all waits that ended after this
  std::vector<Listed> listed_;
  DelayerIntervals intervals_;
  const Divide* divide_ = nullptr;
  std::size_t passed_on_ = 0;         // of those listed
  std::vector<std::uint32_t> ready_;  // waits of one line
};

}  // namespace culprit::waits
