#pragma once

#include "exchange/message_exchange.hpp"
#include "waits/matching/completions.hpp"
#include "waits/matching/message_returns.hpp"
#include "waits/timeline/process_trace.hpp"
#include "waits/timeline/rank_map.hpp"
#include "waits/timeline/trace_store.hpp"

#include <cstdint>

namespace culprit::waits {

/// A send, also while it waits for its receive. Small: there may be millions.
struct Sent {
  EventId call;
  std::uint64_t enter_ns = 0;
  std::uint64_t exit_ns = 0;  ///< of a blocking send; of another one, its operation
  std::uint32_t call_context = 0;
  bool blocking : 1 = false;
  bool buffered : 1 = false;  ///< waits for no receive
  bool alone : 1 = false;     ///< the call does nothing but this
  std::uint16_t size = 0;     ///< Dependency::size
};

/// Who takes a message: a receive, or a matched probe; a probe that only looks at it; a receive that was
/// freed, which nobody sees complete.
enum class Taker : std::uint8_t { receive, probe, freed };

/// A receive or probe that may take a message now, or has to wait for it.
struct Arrival {
  EventId posted, completed;
  std::uint64_t posted_ns = 0, enter_ns = 0, exit_ns = 0;  ///< enter and exit of the completing call
  std::uint64_t received_ns = 0, left_ns = 0;              ///< as CallSite's, of the completing call
  bool any = false;
  Taker taker = Taker::receive;
  std::uint32_t posted_context = 0, completed_context = 0;
};

/// The receive that took a send, on its way back: its sender may have waited for that.
struct ReceiptNotice {
  static constexpr std::uint8_t kMessage = 2;
  std::int32_t source_rank = 0;  ///< in MPI_COMM_WORLD
  bool blocking = false;
  std::uint64_t operation = 0;  ///< of a send that does not block
  Candidate candidate;
  Location sender = kNoLocation;
};

/// What sends and receives that match say of each other: dependencies, candidates of late senders and, sent
/// back to the senders, of late receivers, and what is compared of their returns.
class MatchedMessages {
 public:
  MatchedMessages(const RankMap& rank_map, exchange::MessageExchange& exchange, TraceStore& store,
                  Completions& completions, MessageReturns& returns)
      : rank_map_(rank_map),
        exchange_(exchange),
        store_(store),
        completions_(completions),
        returns_(returns) {}

  /// At the receiver's.
  void match(const Sent& send, const Arrival& arrival);
  /// At the sender's.
  void receive(const ReceiptNotice& notice);

 private:
  void see(const Sent& send, const Arrival& arrival);
  void depend(const Sent& send, const Arrival& arrival);
  static bool may_have_waited(const Sent& send, const Arrival& arrival);
  void notify_sender(const Sent& send, const Arrival& arrival);
  void compare_returns(const Sent& send, const Arrival& arrival);

  const RankMap& rank_map_;
  exchange::MessageExchange& exchange_;
  TraceStore& store_;
  Completions& completions_;
  MessageReturns& returns_;
};

}  // namespace culprit::waits
