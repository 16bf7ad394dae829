#pragma once

#include "measurement/kinds.hpp"
#include "mpi/call_counts.hpp"
#include "mpi/call_facts.hpp"
#include "mpi/counted_requests.hpp"
#include "mpi/occurrence.hpp"
#include "mpi/one_sided.hpp"
#include "mpi/polling.hpp"
#include "mpi/published_call.hpp"
#include "mpi/traced_call.hpp"
#include "mpi/transfers.hpp"
#include "runtime/state/call_mark.hpp"
#include "runtime/state/call_slots.hpp"

#include <type_traits>

namespace culprit::mpi {

using runtime::CallMark;

// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): thread-local and zero
inline __thread PollHistory poll_history __attribute__((tls_model("initial-exec")));

/// Calls that read and write files, or set that up.
template <typename Facts>
concept UsesFile =
    IsOneOf<Facts, FileOpening, FileClosing, CollectiveFileCall, FileTransfer, FileTransferStart,
            CollectiveFileTransfer, CollectiveFileTransferStart, SplitFileTransfer, SplitFileTransferEnd>;

/// What happens at the enter and at the exit of an MPI call, chosen by the facts about it at compile time:
/// constructed, then begin() in the wrapper itself, a CallMark of its kind, enter(), the real call, exit().
template <typename Facts>
class ObservedCall {
 public:
  explicit ObservedCall(const Facts& facts) : facts_(facts) {}

  /// Only where the call path is asked for at every call: a large transfer's is walked from further inside.
  /// `function`: the real one.
  [[gnu::always_inline]] void begin(const void* function) {
    if (OneSided<Facts> || calls_are_followed.load(std::memory_order_relaxed) || is_stretch())
      occurrence_.begin(unwind::registers_here(), __builtin_return_address(0));
    if (is_counted())
      counted_as_ = runtime::key_of_place(__builtin_return_address(0), __builtin_dwarf_cfa(), function);
  }

  /// A poll after a failed one is taken for waiting until enter() knows better: what enter() itself costs
  /// belongs to the wait.
  [[nodiscard]] CallMark::Kind kind() const {
    if constexpr (Facts::kRule == WaitRule::polls) {
      return poll_history.failed() ? CallMark::waiting : CallMark::work;
    }
    return Facts::kRule == WaitRule::waits ? CallMark::waiting : CallMark::work;
  }

  void enter(const CallMark& mark, const CallName& name) {
    bool spinning = false;
    if constexpr (Facts::kRule == WaitRule::polls) {
      spinning = poll_history.failed() && poll_history.spins();
      if (!spinning) mark.change(CallMark::work);
    }
    if (!mark.outermost()) return;
    if constexpr (UsesFile<Facts>) culprit_rt_thread.in_file_call = true;
    if constexpr (std::is_same_v<Facts, CommunicatorRelease>)
      handle_generation.fetch_add(1, std::memory_order_relaxed);
    if constexpr (ReadsMessageStatus<Facts>) {
      if (counted_as_ != 0 && facts_.status == MPI_STATUS_IGNORE) facts_.status = &status_;
    }
    enter_stretch();
    trace_.enter(facts_, spinning);
    if (requests_are_counted.load(std::memory_order_relaxed)) requests_.enter(facts_);
    if constexpr (std::is_same_v<Facts, CompletionAttempt>) {
      transfer_.enter(facts_, spinning);
    } else {
      transfer_.enter(facts_);
    }
    published_.enter(facts_, name, spinning, transfer_);
    if constexpr (OneSided<Facts>) {
      if constexpr (Facts::kRule == WaitRule::polls) {
        epoch_.enter(facts_, spinning);
      } else {
        epoch_.enter(facts_);
      }
    }
  }

  /// The real function, to be called with the wrapper's own arguments: they are passed on, but for the
  /// status, which may be ours where the program wants none.
  template <typename Function>
  [[nodiscard]] auto real(Function next) const {
    if constexpr (CompletesRequests<Facts>) {
      return WithStatus<Function>{next, facts_.requests.statuses};
    } else if constexpr (ReadsStatus<Facts>) {
      return WithStatus<Function>{next, facts_.status};
    } else {
      return next;
    }
  }

  /// After the real call, whose number is `call`, returned `result`. Calls within calls are part of the
  /// outermost one.
  void exit(const CallMark& mark, int result, std::uint32_t call) {
    if (!mark.outermost()) return;
    if constexpr (UsesFile<Facts>) culprit_rt_thread.in_file_call = false;
    bool successful = true;
    if constexpr (Facts::kRule == WaitRule::polls) successful = found_something(result);
    trace_.leave(successful);
    published_.exit(facts_, Facts::kRule != WaitRule::polls || successful, result == MPI_SUCCESS);
    if (stretch_) culprit_rt_count_wait(occurrence_.entered(), occurrence_.left(), occurrence_.path());
    if (result == MPI_SUCCESS) transfer_.exit(facts_, call);
    if constexpr (OneSided<Facts>) {
      if (result == MPI_SUCCESS) {
        epoch_.exit(facts_);
      } else if constexpr (requires { epoch_.fail(facts_); }) {
        epoch_.fail(facts_);
      }
    }
    count(result, successful);
    if (successful && trace_.followed()) trace(mark, result);
    if constexpr (Facts::kRule == WaitRule::polls) {
      if (result == MPI_SUCCESS) poll_history.ended(successful);
    }
  }

 private:
  /// Of a poll. Requests that fail are complete, too.
  [[nodiscard]] bool found_something(int result) const {
    const bool failed = result == MPI_ERR_IN_STATUS || is_truncation(result);
    return (result == MPI_SUCCESS || (CompletesRequests<Facts> && failed)) && *facts_.done != 0;
  }
  /// Without a trace, which has all calls but polls in vain.
  [[nodiscard]] static bool is_counted() {
    return culprit_rt_counting.load(std::memory_order_relaxed) ||
           (Facts::kRule == WaitRule::polls && culprit_rt_tracing.load(std::memory_order_relaxed));
  }
  void count_in_vain() {
    CulpritCallCount* const slot = counted_as_ != 0 ? counted_at() : nullptr;
    if (slot == nullptr) return;
    if (++slot->vain % kPollsHandedOver == 0 || slot->tree == 0) [[unlikely]]
      culprit_rt_hand_over(slot, occurrence_.path());
  }
  void count(int result, bool successful) {
    if constexpr (Facts::kRule == WaitRule::polls) {
      if (result == MPI_SUCCESS && !successful) return count_in_vain();
      if (!culprit_rt_counting.load(std::memory_order_relaxed)) counted_as_ = 0;
    }
    CulpritCallCount* const slot = counted_as_ != 0 && successful ? counted_at() : nullptr;
    if constexpr (std::is_same_v<Facts, ReceiveStart>) {
      if (keeps(result)) requests_.exit(facts_, transfer_.posted_received());
    } else if constexpr (KeepsRequest<CountedRequests<Facts>>) {
      if (keeps(result)) requests_.exit(facts_);
    } else if (successful || result != MPI_SUCCESS) {  // of calls that failed, too: some requests may be gone
      requests_.exit(facts_, result, slot);
    }
    if (slot == nullptr) return;
    if (result == MPI_SUCCESS) {
      if constexpr (SendsPosted<Facts>) {
        add_posted(*slot, facts_, transfer_.posted_sent());
      } else {
        add_moved(*slot, facts_);
      }
    } else if constexpr (ReadsMessageStatus<Facts>) {
      if (is_truncation(result)) add_moved_without_status(*slot, facts_);
    }
    if (++slot->calls >= kHandedOver || slot->tree == 0) [[unlikely]]
      culprit_rt_hand_over(slot, occurrence_.path());
  }
  static bool keeps(int result) {
    return result == MPI_SUCCESS && requests_are_counted.load(std::memory_order_relaxed);
  }
  /// Where the call path was looked for anyway, the call is counted at that. Null: nowhere.
  CulpritCallCount* counted_at() {
    if (culprit_rt_thread.calls == nullptr) return nullptr;
    const CulpritPath& path = *occurrence_.path();
    return &runtime::slot_of(culprit_rt_thread.calls->slots,
                             path.tree != 0 ? key_of_path(path) : counted_as_);
  }

  /// A call that waits, of a thread whose stretches are followed at present (docs/algorithms.md 5.7).
  static bool is_stretch() {
    return Facts::kRule == WaitRule::waits && culprit_rt_thread.stretch != 0 && culprit_rt_thread.pause == 0;
  }
  void enter_stretch() {
    if constexpr (Facts::kRule == WaitRule::waits) {
      stretch_ = is_stretch();
      if (stretch_) {
        static_cast<void>(occurrence_.entered());
        culprit_rt_thread.stretch = measurement::kInWaitingCall;
      } else if (culprit_rt_thread.pause != 0) {
        --culprit_rt_thread.pause;
      }
    }
  }

  struct NoStatus {};
  struct Nothing {
    explicit Nothing(const Occurrence& /*occurrence*/) {}
  };

  template <typename Function>
  struct WithStatus {
    Function next;
    MPI_Status* status;

    template <typename... Arguments>
    __attribute__((always_inline)) int operator()(Arguments... arguments) const {
      return next(chosen(arguments)...);
    }
    MPI_Status* chosen(MPI_Status* /*given*/) const { return status; }
    template <typename Argument>
    Argument chosen(Argument argument) const {
      return argument;
    }
  };

  /// Recording is work, in whatever call.
  void trace(const CallMark& mark, int result) {
    mark.change(CallMark::work);
    if constexpr (OneSided<Facts>) {
      trace_.exit(facts_, result, epoch_.id());
    } else {
      trace_.exit(facts_, result, 0);
    }
  }

  Facts facts_;
  bool stretch_ = false;
  std::uint64_t counted_as_ = 0;  ///< 0: it is not counted
  [[no_unique_address]] std::conditional_t<ReadsMessageStatus<Facts>, MPI_Status, NoStatus> status_;
  Occurrence occurrence_;
  TracedCall<Facts> trace_{occurrence_};
  [[no_unique_address]] std::conditional_t<OneSided<Facts>, EpochCallOf<Facts>, Nothing> epoch_{occurrence_};
  [[no_unique_address]] TransferCall<Facts> transfer_{occurrence_};
  PublishedCall<Facts> published_;
  [[no_unique_address]] CountedRequests<Facts> requests_;
};

}  // namespace culprit::mpi
