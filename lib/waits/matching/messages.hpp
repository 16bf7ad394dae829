#pragma once

#include "exchange/message_exchange.hpp"
#include "waits/matching/completions.hpp"
#include "waits/matching/contexts.hpp"
#include "waits/matching/matched_messages.hpp"
#include "waits/matching/message_channels.hpp"
#include "waits/matching/message_returns.hpp"
#include "waits/matching/posting_order.hpp"
#include "waits/matching/request_table.hpp"
#include "waits/timeline/process_trace.hpp"
#include "waits/timeline/rank_map.hpp"
#include "waits/timeline/trace_store.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace culprit::waits {

/// A send, on its way to the rank of the analysis that has the receiver.
struct SendNotice {
  static constexpr std::uint8_t kMessage = 1;
  std::uint64_t communicator = 0;
  std::int32_t source = 0;            ///< in the communicator
  std::int32_t destination_rank = 0;  ///< in MPI_COMM_WORLD
  std::int32_t tag = 0;
  Sent sent;
};

/// Point-to-point messages: matches receives in posting order with sends in order, per communicator, source,
/// destination and tag (docs/algorithms.md 7), and finds late senders and late receivers. Matched at the
/// receiver's. What waits for its partner is kept; nothing else is.
class Messages {
 public:
  using Received = exchange::MessageList<SendNotice, ReceiptNotice>;

  /// `processes` are how many this rank of the analysis has.
  Messages(const RankMap& rank_map, const Contexts& contexts, std::size_t processes,
           exchange::MessageExchange& exchange, TraceStore& store, Completions& completions,
           MessageReturns& returns)
      : rank_map_(rank_map),
        contexts_(contexts),
        exchange_(exchange),
        store_(store),
        completions_(completions),
        returns_(returns),
        matched_(rank_map, exchange, store, completions, returns),
        channels_(matched_),
        orders_(contexts.slots()),
        posted_(processes) {}

  void send(const CallSite& call, const measurement::trace::Operation& operation);
  void receive(const CallSite& call, const measurement::trace::Operation& operation);
  void probe(const CallSite& call, const measurement::trace::Operation& operation);

  void receive(const SendNotice& notice);
  void receive(const ReceiptNotice& notice) { matched_.receive(notice); }

  /// After the last notice: what receives took that were posted with wildcards and freed. There are notices
  /// once more then.
  void place_freed();
  /// After the last notice: counts what found no partner.
  void finish();

 private:
  struct Posted {
    EventId call;
    std::uint32_t call_context = 0;
    std::uint64_t enter_ns = 0;
    PostingOrder::Ticket ticket;
    std::uint32_t context = View::kUnknown;
    std::uint32_t slot = 0;  // of its process and context
  };
  /// A complete receive that is held back.
  struct Held {
    Channel channel;
    Arrival arrival;
  };
  /// A receive with a wildcard, and the call that freed it.
  struct Freed {
    CallSite call;
    measurement::trace::Operation operation;  // as it was posted
    Posted posted;
  };

  void post(const CallSite& call, const measurement::trace::Operation& operation, const View& view);
  void complete(const CallSite& call, const measurement::trace::Operation& operation);
  void free(const CallSite& call, const measurement::trace::Operation& operation);
  void arrive(const CallSite& call, const measurement::trace::Operation& operation, const Posted& posted,
              Taker taker);
  void take_at_once(const CallSite& call, const measurement::trace::Operation& operation,
                    const Posted& posted, Taker taker);
  static Channel channel(const CallSite& call, const measurement::trace::Operation& operation,
                         const Posted& posted);
  static Arrival arrival(const CallSite& call, const Posted& posted, Taker taker);
  void take_ready();
  void withdraw(const Posted& posted);
  void forget(const Posted& posted);
  [[nodiscard]] std::map<Channel, std::int64_t> surplus() const;
  [[nodiscard]] std::vector<const Held*> held_back() const;
  static bool fits(const Freed& receive, const Channel& channel);

  const RankMap& rank_map_;
  const Contexts& contexts_;
  exchange::MessageExchange& exchange_;
  TraceStore& store_;
  Completions& completions_;
  MessageReturns& returns_;
  MatchedMessages matched_;
  MessageChannels channels_;
  std::vector<PostingOrder> orders_;  // by slot
  RequestTable<Posted> posted_;
  std::vector<Held> held_;  // complete receives in their posting orders, by item
  std::vector<std::uint64_t> free_;
  std::vector<Freed> freed_;
  std::uint64_t communicator_ = 0;            // of the notice read last
  std::optional<std::uint32_t> context_;      // which that is here
  std::vector<PostingOrder::Receive> ready_;  // kept for its memory
};

}  // namespace culprit::waits
