#pragma once

#include "measurement/trace_operation.hpp"
#include "waits/states/matching_pass.hpp"
#include "waits/timeline/event.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace culprit::waits {

/// What was read, and how well the clocks of several hosts agreed.
struct CausallyMatched {
  Matched matched;
  /// Receives that were complete before their send began: as recorded, and where that could not be mended.
  /// This rank's share.
  std::uint64_t violations = 0, left = 0;
};

/// Collective: match_traces(); and where receives precede their sends by the clocks, once more with those
/// pushed forward, and so on while that makes others do so, kPasses times at most. On one
/// host that never happens. `begin`: called before each reading.
CausallyMatched read_in_causal_order(exchange::Communicator& analysis, const RankMap& rank_map,
                                     std::span<const std::unique_ptr<ProcessTrace>> own,
                                     const Observer& observer = {}, const MatchingOptions& options = {},
                                     const std::function<void()>& begin = {});

/// Brings one process's CLOCK_MONOTONIC to that of the reference process (docs/algorithms.md 11): linear
/// between the comparisons at the start and at the end of the run, and beyond them; an offset where there was
/// but one; nothing where there was none, as on the reference's own host. Monotone.
class ClockCorrection {
 public:
  ClockCorrection() = default;
  explicit ClockCorrection(std::span<const measurement::trace::ClockPair> pairs);
  /// Moves all times later by `ns`, or earlier where that is negative.
  static ClockCorrection later_by(std::int64_t ns);

  [[nodiscard]] std::uint64_t operator()(std::uint64_t ns) const {
    if (!corrects_) return ns;
    return corrected(ns);
  }

 private:
  [[nodiscard]] std::uint64_t corrected(std::uint64_t ns) const;

  bool corrects_ = false;
  std::uint64_t own_ = 0, reference_ = 0;  // at the first comparison
  std::int64_t gained_ = 0;                // by the reference, up to the last
  std::uint64_t between_ = 0;              // ns of the own clock from the first to the last
};

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
