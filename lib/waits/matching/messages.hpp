#pragma once

#include "exchange/message_exchange.hpp"
#include "storage/queue_pool.hpp"
#include "waits/matching/completions.hpp"
#include "waits/matching/contexts.hpp"
#include "waits/matching/message_returns.hpp"
#include "waits/matching/posting_order.hpp"
#include "waits/matching/request_table.hpp"
#include "waits/timeline/process_trace.hpp"
#include "waits/timeline/rank_map.hpp"
#include "waits/timeline/trace_store.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include <tsl/robin_map.h>

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

/// A send, on its way to the rank of the analysis that has the receiver.
struct SendNotice {
  static constexpr std::uint8_t kMessage = 1;
  std::uint64_t communicator = 0;
  std::int32_t source = 0;            ///< in the communicator
  std::int32_t destination_rank = 0;  ///< in MPI_COMM_WORLD
  std::int32_t tag = 0;
  Sent sent;
};

/// The receive that took it, on its way back: its sender may have waited for that.
struct ReceiptNotice {
  static constexpr std::uint8_t kMessage = 2;
  std::int32_t source_rank = 0;  ///< in MPI_COMM_WORLD
  bool blocking = false;
  std::uint64_t operation = 0;  ///< of a send that does not block
  Candidate candidate;
  Location sender = kNoLocation;
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
        orders_(contexts.slots()),
        posted_(processes) {}

  void send(const CallSite& call, const measurement::trace::Operation& operation);
  void receive(const CallSite& call, const measurement::trace::Operation& operation);
  void probe(const CallSite& call, const measurement::trace::Operation& operation);

  void receive(const SendNotice& notice);
  void receive(const ReceiptNotice& notice);

  /// After the last notice: what receives took that were posted with wildcards and freed. There are notices
  /// once more then.
  void place_freed();
  /// After the last notice: counts what found no partner.
  void finish();

 private:
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
  struct Posted {
    EventId call;
    std::uint32_t call_context = 0;
    std::uint64_t enter_ns = 0;
    PostingOrder::Ticket ticket;
    std::uint32_t context = View::kUnknown;
    std::uint32_t slot = 0;  // of its process and context
  };
  /// Channels without any message that are kept for the next one.
  static constexpr std::size_t kKeptChannels = 1 << 16;
  /// The messages of one source, destination, tag and communicator.
  struct Channel {
    Channel(std::uint32_t context, std::int32_t source, std::int32_t destination_rank, std::int32_t tag)
        : ranks(storage::joined(destination_rank, source)),
          what(storage::joined(context, static_cast<std::uint32_t>(tag))) {}
    std::uint64_t ranks, what;
    [[nodiscard]] std::int32_t source() const { return static_cast<std::int32_t>(ranks); }
    [[nodiscard]] std::int32_t tag() const { return static_cast<std::int32_t>(what); }
    friend auto operator<=>(const Channel&, const Channel&) = default;  // NOLINT(modernize-use-nullptr)
  };
  struct ChannelHash {
    /// Tags that follow each other come in turn: those of eight lie together.
    std::size_t operator()(const Channel& channel) const {
      return storage::hash_of(channel.ranks, channel.what / 8) ^ channel.what % 8;
    }
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
  /// Either is empty, but for probes that wait with receives.
  struct Queues {
    storage::QueuePool<Sent>::Queue sends;
    storage::QueuePool<Arrival>::Queue arrivals;
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
  void take(const Channel& channel, const Arrival& arrival);
  void match(const Sent& send, const Arrival& arrival);
  void see(const Sent& send, const Arrival& arrival);
  void depend(const Sent& send, const Arrival& arrival);
  static bool may_have_waited(const Sent& send, const Arrival& arrival);
  void notify_sender(const Sent& send, const Arrival& arrival);
  void compare_returns(const Sent& send, const Arrival& arrival);
  [[nodiscard]] std::map<Channel, std::int64_t> surplus() const;
  [[nodiscard]] std::vector<const Held*> held_back() const;
  static bool fits(const Freed& receive, const Channel& channel);

  const RankMap& rank_map_;
  const Contexts& contexts_;
  exchange::MessageExchange& exchange_;
  TraceStore& store_;
  Completions& completions_;
  MessageReturns& returns_;
  std::vector<PostingOrder> orders_;  // by slot
  RequestTable<Posted> posted_;
  std::vector<Held> held_;  // complete receives in their posting orders, by item
  std::vector<std::uint64_t> free_;
  std::vector<Freed> freed_;
  tsl::robin_map<Channel, Queues, ChannelHash> channels_;
  storage::QueuePool<Sent> sends_;
  storage::QueuePool<Arrival> arrivals_;
  std::size_t probes_ = 0;                    // of those
  std::uint64_t communicator_ = 0;            // of the notice read last
  std::optional<std::uint32_t> context_;      // which that is here
  std::vector<PostingOrder::Receive> ready_;  // kept for its memory
};

}  // namespace culprit::waits
