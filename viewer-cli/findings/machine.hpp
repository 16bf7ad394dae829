#pragma once

#include "database/contents.hpp"
#include "findings/verdict.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace culprit::viewer {

/// Where a suspect of the machine is: each once, ascending; `ranks` without processes that are none.
struct MachinePlace {
  std::vector<std::string> hosts;
  std::vector<std::int32_t> ranks;
};
MachinePlace place_of(const database::Contents& experiment, const database::MachineSuspect& suspect);

/// `oversubscribed`, `bound-together`, `quota`, `slow`.
std::string machine_kind(database::MachineKind kind);

/// What the machine did to the run, why, and what to do about it, a paragraph for each suspect; what it
/// explains, of `idle_s` seconds of idleness. Without suspects, of a run that is starved (docs/diagnosis.md):
/// how long threads waited without a processor.
std::vector<std::string> machine_phrases(const database::Contents& experiment, const Verdict& verdict,
                                         double idle_s, bool unicode);

/// What these say beyond the verdict of a run that is starved: why, and what to do.
std::vector<std::string> phrases_beyond_starved(const database::Contents& experiment, double idle_s,
                                                bool unicode);

/// Of a role's time outside waits without CPU time, the part in which its threads were ready to run, at most
/// (docs/algorithms.md 5.6: R); the rest they slept. Empty where that is not known.
std::optional<double> runnable_share(const database::Contents& experiment, std::uint32_t role);

}  // namespace culprit::viewer
