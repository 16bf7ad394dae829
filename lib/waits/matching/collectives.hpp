#pragma once

#include "exchange/message_exchange.hpp"
#include "waits/matching/collective_instance.hpp"
#include "waits/matching/completions.hpp"
#include "waits/matching/contexts.hpp"
#include "waits/matching/held_up.hpp"
#include "waits/matching/returns.hpp"
#include "waits/timeline/process_trace.hpp"
#include "waits/timeline/trace_store.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tsl/robin_map.h>

namespace culprit::waits {

/// A member's enter or exit; the first of several is the one with the lowest rank.
struct Mark {
  std::uint64_t ns = 0;
  EventId call;
  std::int32_t rank = -1;     ///< in the communicator
  std::uint32_t context = 0;  ///< the call's path
};

/// What some members know together of one collective: an associative and commutative sum.
struct Gathering {
  std::uint32_t members = 0;
  bool blocking = true;
  bool contradictory = false;  ///< they took part in different operations, or have several roots
  measurement::trace::OperationKind kind{};
  Mark latest, second;  ///< the last two to enter
  Mark first_in;        ///< the first to enter
  Mark first_out;       ///< the first to leave
  Mark root;            ///< the root's enter

  void add(const Gathering& other);
  /// One more takes part in an operation of this kind.
  void join(measurement::trace::OperationKind operation, bool blocks);
  /// One more has entered the operation, and left it, and is its root: what is known of its marks.
  void enter(const Mark& mark);
  void leave(const Mark& mark);
  void lead(const Mark& mark);

 private:
  void come_last(const Mark& mark);
};

/// Encloses, of a blocking operation that has a root, each member.
struct GatheringNotice {
  static constexpr std::uint8_t kMessage = 3;
  using Item = Presence;
  std::uint64_t context = 0;
  std::uint32_t instance = 0;
  std::uint32_t size = 0;  ///< of the context
  int from = 0;
  Gathering part;
};
/// The whole, back to those who contributed. Encloses who of all members was held up.
struct GatheredNotice {
  static constexpr std::uint8_t kMessage = 4;
  using Item = HeldUp;
  std::uint64_t context = 0;
  std::uint32_t instance = 0;
  Gathering whole;
};
/// One member of a prefix reduction, where each waits for those below it only.
struct PrefixNotice {
  static constexpr std::uint8_t kMessage = 5;
  std::uint64_t context = 0;
  std::uint32_t instance = 0;
  std::uint32_t size = 0;  ///< of the context
  int from = 0;
  bool blocking = true;
  Presence member;
};
/// The latest of those below the member, and who held it up besides.
struct PrefixedNotice {
  static constexpr std::uint8_t kMessage = 6;
  std::uint64_t context = 0;
  std::uint32_t instance = 0;
  EventId call;
  Mark latest;
  HeldUp held_up;  ///< by nobody: `by` has no rank
};

/// Collective operations, fences included: the n-th of each member of a communicator or window belong
/// together, in the order of initiation (docs/algorithms.md 7). Each rank of the analysis first adds up its
/// own members, so that what travels does not grow with their number, but for blocking operations with a root
/// and prefix reductions; the sums are added up at one rank per instance.
class Collectives {
 public:
  using Received = exchange::MessageList<GatheringNotice, GatheredNotice, PrefixNotice, PrefixedNotice>;

  Collectives(const Contexts& contexts, exchange::MessageExchange& exchange, TraceStore& store,
              Completions& completions, CollectiveReturns& returns)
      : contexts_(contexts),
        exchange_(exchange),
        store_(store),
        completions_(completions),
        returns_(returns),
        initiated_(contexts.slots()) {}

  /// A call that begins, completes or does both.
  void observe(const CallSite& call, const measurement::trace::Operation& operation);

  void receive(const GatheringNotice& notice, std::span<const Presence> members);
  void receive(const GatheredNotice& notice, std::span<const HeldUp> held_up);
  void receive(const PrefixNotice& notice);
  void receive(const PrefixedNotice& notice);

  /// After the notices were delivered: what members of the instances that are whole now may have waited for.
  /// Calls fenced(window, a member's rank in MPI_COMM_WORLD, its call) for all fences among them: all that
  /// enter such a fence have done so.
  template <typename Fenced>
  void close_round(Fenced fenced) {
    find_candidates();
    for (const Gathered& one : gathered_) {
      const Gathering& whole = one.notice.whole;
      if (whole.kind != measurement::trace::OperationKind::fence || whole.contradictory) continue;
      for (const Member& member : owns_[one.own].members)
        fenced(one.notice.context, member.process_rank, member.call);
    }
    for (const Gathered& one : gathered_) free_.push_back(one.own);
    gathered_.clear();
  }
  /// At the end of all time lines: parts that lack a member travel after all, so that an instance without it
  /// is counted once.
  void flush();
  /// After the last notice: counts what was not complete.
  void finish();

 private:
  using Key = InstanceKey;
  struct Member {
    EventId call;
    std::int32_t process_rank = -1;  ///< in MPI_COMM_WORLD
    std::uint64_t operation = 0;     ///< 0: blocking
    std::size_t collective = 0;      ///< which of its time line's
    std::uint64_t enter_ns = 0, exit_ns = 0;
  };
  /// This rank's members of one instance, until its answer is there.
  struct Own {
    std::uint32_t expected = 0, size = 0;  ///< members here, and in all
    Gathering part;
    std::vector<Member> members;
    std::vector<Presence> present;  ///< of a blocking operation that has a root: the same members
    std::uint32_t answered = 0;     ///< of a prefix reduction, which answers each
  };
  /// The answer, and whom it concerns: the number of those here.
  struct Gathered {
    GatheredNotice notice;
    std::uint32_t own = 0;
    std::vector<HeldUp> held_up;  ///< of all members
  };
  /// Members whose candidates are found at a time, for one instance after the other: what there is of this
  /// many time lines fits into a processor's cache.
  static constexpr std::size_t kMembersTogether = 64;
  /// An instance at the rank where its parts are added up.
  struct Instance {
    Gathering whole;
    std::vector<int> from;
    std::vector<Presence> present;
    std::vector<PrefixNotice> prefix;
  };

  /// A process's part in an instance.
  struct Participation {
    const SharedContext& context;
    std::uint32_t instance = 0;
    std::int32_t rank = -1;  // in the communicator
    bool blocking = false;
    bool root = false;
    bool bystander = false;  // beside an intercommunicator's root in its group: has no part in the operation
  };

  Own& own(const Key& key);
  void begin(const CallSite& call, const measurement::trace::Operation& operation);
  void note_dependencies(const CallSite& call, const measurement::trace::Operation& operation,
                         const Participation& here);
  void gather(const CallSite& call, measurement::trace::OperationKind kind, const Participation& here,
              Own& own);
  void find_candidates();
  void find_candidates(const Member& member, const Gathering& whole);
  void part_ways(const Member& member);
  void depend(const Member& member, WaitPattern pattern, const Mark& on, bool first);
  void depend(const Member& member, const HeldUp& held_up);
  [[nodiscard]] int home_of(const Key& key) const;

  const Contexts& contexts_;
  exchange::MessageExchange& exchange_;
  TraceStore& store_;
  Completions& completions_;
  CollectiveReturns& returns_;
  std::vector<std::uint32_t> initiated_;                       // by slot of the contexts
  tsl::robin_map<Key, std::uint32_t, InstanceKey::Hash> own_;  // their numbers
  std::vector<Own> owns_;                                      // by number; kept for the next one's members
  std::vector<std::uint32_t> free_;
  std::vector<Gathered> gathered_;  // in this round
  tsl::robin_map<Key, Instance, InstanceKey::Hash> instances_;
};

}  // namespace culprit::waits
