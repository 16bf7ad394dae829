// Divides sums of waits into direct waits and those that the delayer's own waits passed on
// (docs/algorithms.md 8; Böhme 2010).
#include "waits/causes/indirect_waits.hpp"

namespace culprit::waits {

void IndirectWaits::add(const ComparedWait& wait) {
  if (wait.indirect_ns == 0) return;
  indirect_ns_[{wait.waiter, wait.cause.location, wait.waiter_context, wait.cause_context, wait.pattern}] +=
      wait.indirect_ns;
}

void IndirectWaits::set(std::vector<WaitSum>& sums) const {
  for (WaitSum& sum : sums) {
    const auto found =
        indirect_ns_.find({sum.location, sum.cause, sum.context, sum.cause_context, sum.pattern});
    if (found != indirect_ns_.end()) sum.indirect_ns = found->second;
  }
}

}  // namespace culprit::waits
