#pragma once

#include "exchange/message_exchange.hpp"
#include "waits/matching/contexts.hpp"
#include "waits/timeline/process_trace.hpp"
#include "waits/timeline/rank_map.hpp"
#include "waits/timeline/trace_store.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

namespace culprit::waits {

/// A call of an origin that held, or was to get, a lock.
struct HoldingCall {
  EventId call;
  std::uint64_t enter_ns = 0, exit_ns = 0;
  bool completes = false;     ///< when it returns, the lock is held for sure
  std::uint32_t context = 0;  ///< its path
};

/// From an origin's lock to its unlock, on the way to the rank of the analysis that has the target. Encloses
/// the calls between that may have been blocked, both included.
struct HoldingNotice {
  static constexpr std::uint8_t kMessage = 13;
  using Item = HoldingCall;
  std::uint64_t window = 0;
  std::int32_t target_rank = 0, origin_rank = 0;  ///< in MPI_COMM_WORLD
  bool exclusive = false;
};

/// One origin held a lock; this is how an other one's answer gets to it.
struct LockWaitNotice {
  static constexpr std::uint8_t kMessage = 14;
  EventId call, unlock;
  std::uint32_t unlock_context = 0;
  std::uint32_t lock = Candidate::kNoCall;  ///< the call with which that holding began
  std::uint64_t until_ns = 0;
};

/// One-sided communication with passive targets (docs/algorithms.md 7): a call between an origin's lock and
/// unlock waited for a lock if another origin's conflicting one was given back while it lasted. Libraries get
/// locks at any call from MPI_Win_lock to the first that has to complete something; whoever is done with a
/// lock later than this origin, and may not have had it before, did not keep it waiting.
class Locks {
 public:
  using Received = exchange::MessageList<HoldingNotice, LockWaitNotice>;

  Locks(const RankMap& rank_map, const Contexts& contexts, exchange::MessageExchange& exchange,
        TraceStore& store)
      : rank_map_(rank_map), contexts_(contexts), exchange_(exchange), store_(store) {}

  void lock(const CallSite& call, const measurement::trace::Operation& operation);
  /// An operation on the target, or a flush.
  void use(const CallSite& call, const measurement::trace::Operation& operation);
  void unlock(const CallSite& call, const measurement::trace::Operation& operation);

  void receive(const HoldingNotice& notice, std::span<const HoldingCall> calls);
  void receive(const LockWaitNotice& notice);

  /// After each round: all that ended up to its time has arrived, and can be compared in the order of ending.
  void close_round();
  void finish();

 private:
  /// Holdings that are looked back at; of more that overlap, the earliest are forgotten.
  static constexpr std::size_t kRemembered = 4096;

  struct Place {
    std::uint64_t window = 0;
    std::int32_t target_rank = -1;
    friend auto operator<=>(const Place&, const Place&) = default;  // NOLINT(modernize-use-nullptr)
  };
  struct Holding {
    std::int32_t origin_rank = -1;
    bool exclusive = false;
    std::vector<HoldingCall> calls;  // never empty
    [[nodiscard]] std::uint64_t begin_ns() const { return calls.front().enter_ns; }
    [[nodiscard]] std::uint64_t end_ns() const { return calls.back().exit_ns; }
    /// Something was complete before the unlock.
    [[nodiscard]] bool surely_held() const;
    /// Its first call; kNoCall where another thread made the last one.
    [[nodiscard]] std::uint32_t lock() const;
  };
  /// A lock that an own process has, or locks to all.
  struct Held {
    bool exclusive = false;
    HoldingCall lock;
    std::map<std::int32_t, std::vector<HoldingCall>> uses;  // by target
    std::vector<HoldingCall> uses_of_all;                   // flushes of all targets
  };
  struct Owner {
    std::int32_t rank = -1;
    std::uint64_t window = 0;
    std::int32_t target_rank = -1;                                  // kAllTargets for MPI_Win_lock_all
    friend auto operator<=>(const Owner&, const Owner&) = default;  // NOLINT(modernize-use-nullptr)
  };

  [[nodiscard]] Owner owner(const CallSite& call, const measurement::trace::Operation& operation) const;
  void release(const Owner& owner, std::int32_t target, const Held& held, const HoldingCall& unlock);
  void compare(const Holding& waiter, const Holding& other);

  const RankMap& rank_map_;
  const Contexts& contexts_;
  exchange::MessageExchange& exchange_;
  TraceStore& store_;
  std::map<Owner, Held> held_;
  std::map<Place, std::vector<Holding>> arrived_;  // in this round
  std::map<Place, std::deque<Holding>> ended_;     // in the order of ending
};

}  // namespace culprit::waits
