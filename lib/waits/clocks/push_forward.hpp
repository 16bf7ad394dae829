#pragma once

#include "waits/timeline/event.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace culprit::waits {

/// A controlled logical clock (docs/algorithms.md 11): moves a process's receives behind their sends, and
/// what follows with them; the shift then shrinks by one part in kRecovery of the time that passes, so that
/// intervals keep their lengths but for that. Nothing is moved backwards, and order is kept.
class PushForward {
 public:
  static constexpr std::uint64_t kRecovery = 100;

  /// The next set of shifts, on top of those before: of receives whose times are as this has them by now.
  void add(std::span<const ClockViolation> violations);

  [[nodiscard]] std::uint64_t operator()(std::uint64_t ns) const {
    for (const std::vector<Shift>& shifts : sets_) ns = shifted(shifts, ns);
    return ns;
  }

 private:
  struct Shift {
    std::uint64_t at = 0, by = 0;
    [[nodiscard]] std::uint64_t left(std::uint64_t ns) const {
      const std::uint64_t recovered = (ns - at) / kRecovery;
      return by > recovered ? by - recovered : 0;
    }
  };
  static std::uint64_t shifted(const std::vector<Shift>& shifts, std::uint64_t ns);

  std::vector<std::vector<Shift>> sets_;  // each in the order of time, each shift more than what is left then
};

}  // namespace culprit::waits
