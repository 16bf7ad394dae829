#pragma once

#include "exchange/message_exchange.hpp"
#include "waits/matching/completions.hpp"
#include "waits/matching/request_table.hpp"
#include "waits/timeline/process_trace.hpp"
#include "waits/timeline/rank_map.hpp"
#include "waits/timeline/trace_store.hpp"

#include <cstddef>
#include <cstdint>

namespace culprit::waits {

/// One end of a message: the call in which it was complete there.
struct MessageEnd {
  EventId call;
  std::uint64_t begun_ns = 0;  ///< the enter of the call that posted it
  std::uint64_t left_ns = 0;   ///< CallSite::left_ns: outside of MPI since then
  std::uint64_t enter_ns = 0, exit_ns = 0;
  std::uint32_t context = 0;
  bool any = false;  ///< the call returns at the first of several operations
};

/// A receive is complete, on its way to the rank of the analysis that has the sender.
struct ReceivedNotice {
  static constexpr std::uint8_t kMessage = 16;
  std::int32_t source_rank = 0;  ///< in MPI_COMM_WORLD
  std::uint64_t operation = 0;   ///< of the sender
  std::uint16_t size = 0;        ///< Dependency::size
  MessageEnd receiver;
};
/// What an end of a message may have waited for.
struct MessageReturnNotice {
  static constexpr std::uint8_t kMessage = 17;
  Location waiter = kNoLocation;
  Candidate candidate;
};

/// Large messages move only while both ends are inside MPI, where no thread of the library or the network
/// does that alone: whoever completes one first may wait until the other comes back to complete it
/// (docs/algorithms.md 7, Late return). Found where the sender is, once both ends are complete.
class MessageReturns {
 public:
  using Received = exchange::MessageList<ReceivedNotice, MessageReturnNotice>;

  /// `processes` are how many this rank of the analysis has.
  MessageReturns(const RankMap& rank_map, std::size_t processes, exchange::MessageExchange& exchange,
                 TraceStore& store, const Completions& completions)
      : rank_map_(rank_map),
        exchange_(exchange),
        store_(store),
        completions_(completions),
        open_(processes) {}

  /// Whether a message of this Dependency::size may move in several steps.
  [[nodiscard]] static bool may_stand_still(std::uint16_t size);

  /// The call begins such a send, which another one will complete.
  void begin(const CallSite& call, std::uint64_t operation);
  /// The call completes this operation of its process, which may be such a send.
  void complete(const CallSite& call, std::uint64_t operation);
  /// A receive is complete that took such a send, of this rank and operation.
  void received(Location sender, std::uint64_t operation, std::uint16_t size, const MessageEnd& receiver);
  /// Both ends are: of a send that was complete in its own call.
  void compare(const MessageEnd& sender, const MessageEnd& receiver, std::uint16_t size);

  void receive(const ReceivedNotice& notice);
  void receive(const MessageReturnNotice& notice) { store_.add(notice.waiter, notice.candidate); }

 private:
  /// A send of which one end at most is complete.
  struct Open {
    std::uint64_t begun_ns = 0;
    MessageEnd complete;  // if any
    std::uint16_t size = 0;
    bool sent = false, received = false;  // which end that is
  };

  const RankMap& rank_map_;
  exchange::MessageExchange& exchange_;
  TraceStore& store_;
  const Completions& completions_;  // knows which process has which rank
  RequestTable<Open> open_;
};

}  // namespace culprit::waits
