#pragma once

#include "mpi/call_facts.hpp"
#include "mpi/call_mark.hpp"
#include "mpi/one_sided.hpp"
#include "mpi/polling.hpp"

#include <type_traits>

namespace culprit::mpi {

// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): thread-local and zero
inline __thread PollHistory poll_history __attribute__((tls_model("initial-exec")));

/// What happens at the enter and at the exit of an MPI call, chosen by the facts about it at compile time:
/// constructed, then a CallMark of its kind, enter(), the real call, exit().
template <typename Facts>
class ObservedCall {
 public:
  explicit ObservedCall(const Facts& facts) : facts_(facts) {}

  /// A poll after a failed one is taken for waiting until enter() knows better: what enter() itself costs
  /// belongs to the wait.
  [[nodiscard]] CallMark::Kind kind() const {
    if constexpr (Facts::kRule == WaitRule::polls) {
      return poll_history.failed() ? CallMark::waiting : CallMark::work;
    }
    return Facts::kRule == WaitRule::waits ? CallMark::waiting : CallMark::work;
  }

  void enter(const CallMark& mark) {
    bool spinning = false;
    if constexpr (Facts::kRule == WaitRule::polls) {
      spinning = poll_history.failed() && poll_history.spins();
      if (!spinning) mark.change(CallMark::work);
    }
    if constexpr (OneSided<Facts>) {
      if (!mark.outermost()) return;
      if constexpr (Facts::kRule == WaitRule::polls) {
        epoch_.enter(facts_, spinning);
      } else {
        epoch_.enter(facts_);
      }
    }
  }

  /// After the real call returned `result`. Calls within calls are part of the outermost one.
  void exit(const CallMark& mark, int result) {
    if (!mark.outermost() || result != MPI_SUCCESS) return;
    if constexpr (OneSided<Facts>) epoch_.exit(facts_);
    if constexpr (Facts::kRule == WaitRule::polls) poll_history.ended(*facts_.done != 0);
  }

 private:
  struct Nothing {};

  const Facts facts_;
  [[no_unique_address]] std::conditional_t<OneSided<Facts>, EpochCall, Nothing> epoch_;
};

}  // namespace culprit::mpi
