// Brings a process's clock to the reference process's (docs/algorithms.md 11): linear between the comparisons
// in MPI_Init and MPI_Finalize, and beyond them. With one comparison an offset; a rate that differs by more
// than a tenth is damage, and only the offset counts. 128 bits, so that no product overflows.
#include "waits/clocks/clock_correction.hpp"

#include <algorithm>

namespace culprit::waits {

using measurement::trace::ClockPair;

ClockCorrection::ClockCorrection(std::span<const ClockPair> pairs) {
  const ClockPair* first = nullptr;
  const ClockPair* last = nullptr;
  for (const ClockPair& pair : pairs) {
    if (pair.reference == measurement::trace::kNobody) continue;
    if (first == nullptr || pair.monotonic_ns < first->monotonic_ns) first = &pair;
    if (last == nullptr || pair.monotonic_ns > last->monotonic_ns) last = &pair;
  }
  if (first == nullptr) return;
  corrects_ = true;
  own_ = first->monotonic_ns;
  reference_ = first->reference_ns;
  between_ = last->monotonic_ns - first->monotonic_ns;
  gained_ = static_cast<std::int64_t>(last->reference_ns - first->reference_ns) -
            static_cast<std::int64_t>(between_);
  // Clocks do not differ by a tenth of their speed: such a pair is damaged, and only the first one is used.
  if (between_ == 0 || static_cast<std::uint64_t>(std::abs(gained_)) > between_ / 10) gained_ = 0;
}

std::uint64_t ClockCorrection::corrected(std::uint64_t ns) const {
  __extension__ using Wide = __int128;
  const Wide since = Wide{ns} - Wide{own_};
  const Wide gained = between_ == 0 ? 0 : since * gained_ / Wide{between_};
  return static_cast<std::uint64_t>(std::max<Wide>(Wide{reference_} + since + gained, 0));
}

}  // namespace culprit::waits
