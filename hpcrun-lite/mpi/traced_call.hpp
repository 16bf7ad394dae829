#pragma once

#include "mpi/call_facts.hpp"
#include "mpi/completions.hpp"
#include "mpi/occurrence.hpp"
#include "mpi/operations.hpp"
#include "mpi/status_bytes.hpp"
#include "runtime/api.hpp"

#include <atomic>
#include <cstdint>
#include <type_traits>

// The time line's view of an MPI call: when it was entered and left, and which operations it began and
// completed. While a trace may be recorded, all calls are followed, so that what they make and begin is known
// later, also while sampling is stopped.
namespace culprit::mpi {

/// From MPI_Init on, if the process has a trace.
inline std::atomic<bool> calls_are_followed{false};

// When this thread's present series of polls in vain began (polling.hpp): the poll that ends it successfully
// stands for all of them, and they are not recorded. 0: none, or another call was recorded since.
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): thread-local and zero
inline __thread std::uint64_t polled_since __attribute__((tls_model("initial-exec")));

template <typename Facts, typename... Some>
concept IsOneOf = (std::is_same_v<Facts, Some> || ...);
template <typename Facts>
concept CompletesRequests = IsOneOf<Facts, BlockingCompletion, CompletionAttempt>;
/// Calls whose status is read, and therefore always asked for.
template <typename Facts>
concept ReadsStatus = IsOneOf<Facts, BlockingReceive, BlockingMatchedReceive, BlockingExchange, BlockingProbe,
                              ProbeAttempt, StatusQuery>;

/// Calls in which a message arrives whose length is in their status.
template <typename Facts>
concept ReadsMessageStatus = IsOneOf<Facts, BlockingReceive, BlockingMatchedReceive, BlockingExchange>;

template <typename Facts>
class TracedCall {
 public:
  explicit TracedCall(Occurrence& occurrence) : occurrence_(occurrence) {}

  /// Before the call, which is then to be given the status that the facts hold. `spinning`: it polls right
  /// after a poll in vain.
  void enter(Facts& facts, bool spinning) {
    followed_ = calls_are_followed.load(std::memory_order_relaxed);
    if (!followed_) return;
    call_ = {.recorded = culprit_rt_tracing.load(std::memory_order_relaxed),
             .entered = 0,
             .left = 0,
             .path = occurrence_.path()};
    if (call_.recorded) note_enter(spinning);
    if constexpr (CompletesRequests<Facts>) {
      own_.enter(facts.requests);
    } else if constexpr (std::is_same_v<Facts, RequestStart>) {
      own_.enter(facts);
    } else if constexpr (ReadsStatus<Facts>) {
      if (facts.status == MPI_STATUS_IGNORE) facts.status = &own_.status;
      if constexpr (std::is_same_v<Facts, StatusQuery>) own_.last = last_operation();
      before(facts, own_.before);
    } else {
      before(facts, own_.before);
    }
  }

  [[nodiscard]] bool followed() const { return followed_; }

  /// Right after the call. `successful`: not a poll in vain.
  void leave(bool successful) {
    if (followed_ && call_.recorded && successful) call_.left = host_time(occurrence_.left());
  }

  /// Of a call that was followed, and left successfully. `window`: the id of the one that it made, or failed
  /// to make.
  void exit(const Facts& facts, int result, std::uint64_t window) {
    if constexpr (Facts::kRule == WaitRule::polls) polled_since = 0;
    if constexpr (CompletesRequests<Facts>) {
      own_.exit(facts.requests, result, call_);
    } else {
      const bool cut = ReadsMessageStatus<Facts> && is_truncation(result);
      if (result != MPI_SUCCESS && !cut && !happened_all_the_same(window)) return record(nullptr, 0);
      if constexpr (std::is_same_v<Facts, RequestStart>) {
        own_.exit(facts, call_);
      } else if constexpr (std::is_same_v<Facts, StatusQuery>) {
        record_query(facts, own_.last, call_);
      } else {
        Operation list[kMostOperations];
        int count = 0;
        if constexpr (std::is_same_v<Facts, WindowCreation>) {
          count = operations(facts, window, result == MPI_SUCCESS, list);
        } else {
          count = operations(facts, own_.before, list);
        }
        if (cut) forget_bytes(list, count);
        record(list, static_cast<std::size_t>(count));
      }
    }
  }

 private:
  struct Consumed {
    [[no_unique_address]] Before<Facts> before;
  };
  struct StatusOf : Consumed {
    MPI_Status status;
    std::uint64_t last;
  };
  using Own =
      std::conditional_t<CompletesRequests<Facts>, CompletingCall,
                         std::conditional_t<std::is_same_v<Facts, RequestStart>, StartingCall,
                                            std::conditional_t<ReadsStatus<Facts>, StatusOf, Consumed>>>;

  void note_enter(bool spinning) {
    if constexpr (Facts::kRule == WaitRule::polls) {
      if (!spinning || polled_since == 0) polled_since = host_time(occurrence_.entered());
      call_.entered = polled_since;
    } else {
      polled_since = 0;  // however short this call is: what polls after it stand for begins after it
      call_.entered = host_time(occurrence_.entered());
    }
  }

  /// A call that failed: what processes came together for they take part in, whatever comes of it.
  static bool happened_all_the_same(std::uint64_t window) {
    return std::is_same_v<Facts, WindowCreation> && window != 0;
  }

  void record(const Operation* list, std::size_t count) {
    if (call_.recorded) culprit_rt_trace_call(call_.entered, call_.left, list, count, false, call_.path);
  }

  bool followed_ = false;
  Occurrence& occurrence_;
  CallPlace call_;  // of a call that is followed
  [[no_unique_address]] Own own_;
};

}  // namespace culprit::mpi
