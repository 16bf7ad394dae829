// How sure a suspect is (ours; docs/blame.md, "How sure"). Three measured quantities: its excess over what
// sampling and nature make of equal work, how much more even the balanced scope is without it than without
// another part that offers as much, and how much of the blame all suspects explain. The thresholds follow
// from simulated runs with known truth (tests/unit/blame/choice_test.cpp). Cost: none.
#include "blame/confidence.hpp"

namespace culprit::blame {
namespace {

using database::Confidence;
using database::Doubt;

/// Excess over its jitter: sure, and likely, from there on.
constexpr double kSignificant = 6, kLikely = 3;
/// How much more even the scope is without it than without a rival, over the jitter of both: likewise.
constexpr double kAhead = 3, kHardlyAhead = 1;
/// Share of the blame that all suspects of the balanced scope explain.
constexpr double kExplained = 0.25;

}  // namespace

void judge(database::Suspect& suspect, const Excess& excess, const Late& late,
           std::span<const std::size_t> culprits, double explained) {
  const double jitter = excess.jitter * late.error(culprits);
  const double total = late.waiting(excess);
  const bool weak = total < kSignificant * jitter;
  suspect.doubt = weak                     ? Doubt::sampling
                  : excess.margin < kAhead ? Doubt::rivals
                  : explained < kExplained ? Doubt::varying
                                           : Doubt::none;
  const bool hint = total < kLikely * jitter || excess.margin < kHardlyAhead;
  suspect.confidence = suspect.doubt == Doubt::none ? Confidence::sure
                       : hint                       ? Confidence::hint
                                                    : Confidence::likely;
}

}  // namespace culprit::blame
