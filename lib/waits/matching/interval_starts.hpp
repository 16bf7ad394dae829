#pragma once

#include "exchange/communicator.hpp"
#include "exchange/message_exchange.hpp"
#include "waits/matching/contexts.hpp"
#include "waits/timeline/rank_map.hpp"
#include "waits/timeline/trace_store.hpp"

#include <cstdint>

namespace culprit::waits {

/// A call on the recipient's time line ended a wait.
struct AwaitedNotice {
  static constexpr std::uint8_t kMessage = 15;
  EventId cause, waiter;
  bool by_its_end = false;
};

/// Finds where the synchronization intervals of all waits begin (docs/algorithms.md 8): the last moment
/// before at which the waiter and the delayer synchronized. First all waits are sent to those that caused
/// them; then each time line is gone along.
class IntervalStarts {
 public:
  using Received = exchange::MessageList<AwaitedNotice>;

  IntervalStarts(exchange::Communicator& analysis, const RankMap& rank_map, const Contexts& contexts,
                 TraceStore& store)
      : rank_map_(rank_map), contexts_(contexts), store_(store), exchange_(analysis) {}

  /// Reports a classified time line's waits to their causes.
  void send(const TimeLine& line);
  /// Collective: what was sent since the last time arrives.
  void deliver() { exchange_.deliver(*this); }
  /// After all of all time lines arrived: fills in where the intervals begin.
  void find();

  void receive(const AwaitedNotice& notice);

 private:
  void find(TimeLine& line);

  const RankMap& rank_map_;
  const Contexts& contexts_;
  TraceStore& store_;
  exchange::MessageExchange exchange_;
};

}  // namespace culprit::waits
