#pragma once

#include "exchange/message_exchange.hpp"
#include "waits/matching/contexts.hpp"
#include "waits/timeline/process_trace.hpp"
#include "waits/timeline/rank_map.hpp"
#include "waits/timeline/trace_store.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

namespace culprit::waits {

/// A target exposed its window to an origin.
struct PostNotice {
  static constexpr std::uint8_t kMessage = 10;
  std::uint64_t window = 0;
  std::int32_t target_rank = 0, origin_rank = 0;  ///< in MPI_COMM_WORLD
  EventId call;
  std::uint32_t call_context = 0;
  std::uint64_t enter_ns = 0;
};
/// An origin ended its access to a target's window.
struct CompleteNotice {
  static constexpr std::uint8_t kMessage = 11;
  std::uint64_t window = 0;
  std::int32_t target_rank = 0, origin_rank = 0;
  EventId call;
  std::uint32_t call_context = 0;
  std::uint64_t enter_ns = 0;
  std::uint64_t arrived_ns = 0;  ///< exit of its last operation towards the target, or of MPI_Win_start
};
/// The last operation of an origin towards a target before a fence.
struct LastAccessNotice {
  static constexpr std::uint8_t kMessage = 12;
  std::uint64_t window = 0;
  std::int32_t target_rank = 0;
  std::uint32_t fence = 0;
  EventId call;
  std::uint32_t call_context = 0;
  std::uint64_t exit_ns = 0;
};

/// One-sided communication with active targets: fences and general (post, start, complete, wait) epochs,
/// matched by window and group (docs/algorithms.md 7; Hermanns 2009, 2013). Posts are matched with starts at
/// the origin's, completes with waits at the target's. That all fence at one time is Collectives' to find;
/// here are the operations that reach a target after it entered its fence.
class ActiveTarget {
 public:
  using Received = exchange::MessageList<PostNotice, CompleteNotice, LastAccessNotice>;

  ActiveTarget(const RankMap& rank_map, const Contexts& contexts, exchange::MessageExchange& exchange,
               TraceStore& store)
      : rank_map_(rank_map), contexts_(contexts), exchange_(exchange), store_(store) {}

  /// MPI_Put, MPI_Get, MPI_Accumulate and their like.
  void access(const CallSite& call, const measurement::trace::Operation& operation);
  void fence(const CallSite& call, const measurement::trace::Operation& operation);
  void start(const CallSite& call, const measurement::trace::Operation& operation);
  void complete(const CallSite& call, const measurement::trace::Operation& operation);
  void post(const CallSite& call, const measurement::trace::Operation& operation);
  void wait(const CallSite& call, const measurement::trace::Operation& operation);

  void receive(const PostNotice& notice);
  void receive(const CompleteNotice& notice);
  void receive(const LastAccessNotice& notice);

  /// All have entered this fence, and what they did before it has arrived: nothing will be said of it, nor of
  /// the process's earlier ones on the window.
  void fenced(std::uint64_t window, std::int32_t rank, EventId call);

  void finish();

 private:
  /// A process and a window.
  struct Place {
    std::int32_t rank = -1;  ///< in MPI_COMM_WORLD
    std::uint64_t window = 0;
    friend auto operator<=>(const Place&, const Place&) = default;  // NOLINT(modernize-use-nullptr)
  };
  /// A place and the process at the other end.
  struct Pair {
    Place place;
    std::int32_t other_rank = -1;
    friend auto operator<=>(const Pair&, const Pair&) = default;  // NOLINT(modernize-use-nullptr)
  };
  struct Last {
    EventId call;
    std::uint32_t context = 0;  // the call's path
    std::uint64_t exit_ns = 0;
  };
  /// What an origin does between MPI_Win_start and MPI_Win_complete with one target.
  struct Access {
    EventId start, complete;
    std::uint64_t start_exit_ns = 0;
    std::vector<EventId> operations;
    std::uint64_t last_exit_ns = 0;
  };
  struct Origin {
    std::vector<std::int32_t> targets;        // of the open epoch
    std::map<std::int32_t, Last> fence_last;  // by target, since the last fence
  };

  [[nodiscard]] Place place(const CallSite& call, const measurement::trace::Operation& operation) const;
  void match(const Pair& pair);
  void explain(const Access& access, const PostNotice& post);
  void depend(const Access& access, const PostNotice& post);
  void expose(const Pair& pair);

  const RankMap& rank_map_;
  const Contexts& contexts_;
  exchange::MessageExchange& exchange_;
  TraceStore& store_;
  std::map<Place, Origin> origins_;
  std::map<Pair, std::deque<Access>> accesses_;   // of own origins, by target; the last may be open
  std::map<Pair, std::deque<PostNotice>> posts_;  // to own origins
  std::map<Place, std::deque<std::vector<std::int32_t>>> exposed_;  // origins of own targets' open epochs
  std::map<Pair, std::deque<EventId>> waits_;                       // of own targets, by origin
  std::map<Pair, std::deque<CompleteNotice>> completes_;
  /// Fences of an own target that operations may yet reach.
  struct Fences {
    std::uint32_t first = 0;  // how many there were before
    std::deque<EventId> calls;
  };
  std::map<Place, Fences> fences_;
  std::map<std::pair<Place, std::uint32_t>, std::vector<LastAccessNotice>> early_;  // for fences not yet read
};

}  // namespace culprit::waits
