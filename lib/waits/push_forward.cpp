#include "waits/push_forward.hpp"

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
