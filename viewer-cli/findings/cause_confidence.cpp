#include "findings/cause_confidence.hpp"

#include "text/prose.hpp"
#include "text/quantity.hpp"

namespace culprit::viewer {
namespace {

using database::Cause;
using database::Confidence;

/// Of the time of all ranks: of causes that cost as much the first was right in each of the scored programs.
constexpr double kScored = 0.05;

}  // namespace

CauseConfidence::CauseConfidence(const database::Contents& experiment)
    : run_ns_(static_cast<double>(experiment.trace().run_ns) *
              static_cast<double>(experiment.trace().traced)),
      busy_machine_(!experiment.machine().suspects.empty()) {
  for (const Cause& cause : experiment.trace().causes) by_path_[cause.scope] += cause.cost_ns();
}

CauseConfidence::Judgement CauseConfidence::judge(std::uint64_t cost_ns, bool between) const {
  if (between) return {Confidence::hint, "faster sampling"};
  if (busy_machine_) return {Confidence::likely, "a quiet machine"};
  const bool large = static_cast<double>(cost_ns) >= kScored * run_ns_;
  return large ? Judgement{Confidence::sure, ""} : Judgement{Confidence::likely, "a longer run"};
}

CauseConfidence::Judgement CauseConfidence::judge(const Cause& cause) const {
  return judge(by_path_.at(cause.scope), cause.scope.between);
}

Confidence CauseConfidence::of(const Cause& cause) const {
  return judge(cause).confidence;
}

std::string CauseConfidence::surer_with(const Cause& cause) const {
  return judge(cause).surer_with;
}

bool CauseConfidence::is_likely(std::uint64_t cost_ns, bool between) const {
  return judge(cost_ns, between).confidence == Confidence::likely;
}

std::string CauseConfidence::what_likely_means() const {
  if (busy_machine_) return "Likely, not sure: the machine was busy.";
  return "Likely, not sure: what costs less than " + keep(round_percent(kScored)) +
         " of the run; a longer run makes it surer.";
}

}  // namespace culprit::viewer
