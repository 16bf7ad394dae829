// A controlled logical clock (docs/algorithms.md 11): moves receives that end before their sends begin to 1
// ns behind them, and what follows on the process with them. The shift shrinks by a hundredth of the time
// that passes; nothing moves backwards. Each reading of the traces adds a set of shifts on top of the earlier
// ones. Cost: a binary search per set and time stamp.
#include "waits/clocks/push_forward.hpp"

#include <algorithm>

namespace culprit::waits {

void PushForward::add(std::span<const ClockViolation> violations) {
  if (violations.empty()) return;
  std::vector<ClockViolation> sorted(violations.begin(), violations.end());
  std::ranges::sort(sorted, {}, &ClockViolation::received_ns);
  std::vector<Shift>& shifts = sets_.emplace_back();
  for (const ClockViolation& one : sorted) {
    const Shift shift{.at = one.received_ns, .by = one.sent_ns + 1 - one.received_ns};
    if (!shifts.empty() && shifts.back().left(shift.at) >= shift.by) continue;
    // Of several at one time the largest.
    if (!shifts.empty() && shifts.back().at == shift.at) shifts.pop_back();
    shifts.push_back(shift);
  }
}

std::uint64_t PushForward::shifted(const std::vector<Shift>& shifts, std::uint64_t ns) {
  const auto after = std::ranges::upper_bound(shifts, ns, {}, &Shift::at);
  return after == shifts.begin() ? ns : ns + (after - 1)->left(ns);
}

}  // namespace culprit::waits
