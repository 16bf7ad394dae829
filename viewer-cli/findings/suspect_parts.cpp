// Parts of a suspect whose callees are all uneven alike, so that the walk stops at it
// (docs/algorithms.md 5.4): the user may look at each. Procedures below it, through its loops, lines and call
// sites, are pooled as suspects are. Cost: the contexts between the suspect and these, and per-thread values
// of a few.
#include "findings/suspect_parts.hpp"

#include "text/quantity.hpp"
#include "views/column.hpp"
#include "views/frame.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <tuple>

namespace culprit::viewer {
namespace {

using database::ContextId;

/// Of a suspect's excess: a part with less is none to look at.
constexpr double kNotable = 0.2;
constexpr std::size_t kMostParts = 4;

/// By name, file and module, the calls of each procedure.
using Callees = std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::vector<ContextId>>;

void collect(const database::Contents& experiment, ContextId scope, Callees& callees) {
  for (ContextId x = scope + 1; x < experiment.contexts[scope].end; x = experiment.contexts[x].end) {
    const database::Context& self = experiment.contexts[x];
    if ((self.flags & (database::kFrontier | database::kInWait)) != 0) continue;
    if (!views::is_procedure(self.kind)) {
      collect(experiment, x, callees);
    } else if ((self.flags & database::kRunTime) == 0) {
      callees[{self.name, self.file, self.module}].push_back(x);
    }
  }
}

/// What the culprits work in some contexts above the mean of the compared threads, in seconds.
double excess_s(const views::Figures& figures, std::span<const ContextId> contexts,
                const database::Suspect& suspect, std::span<const std::uint32_t> compared) {
  const std::optional<std::uint32_t> time = views::metric_named(figures.experiment(), "REALTIME");
  const std::optional<std::uint32_t> idleness = views::metric_named(figures.experiment(), "idleness");
  if (!time || !idleness || compared.empty()) return 0;
  const std::vector<std::uint64_t> wall = figures.per_thread(contexts, *time, true);
  const std::vector<std::uint64_t> idle = figures.per_thread(contexts, *idleness, true);
  const auto work_s = [&](std::uint32_t location) {
    return seconds_of(wall[location] - std::min(wall[location], idle[location]));
  };
  double all_s = 0, excess = 0;
  for (const std::uint32_t location : compared) all_s += work_s(location);
  const double mean_s = all_s / static_cast<double>(compared.size());
  for (const std::uint32_t location : suspect.locations) excess += std::max(0.0, work_s(location) - mean_s);
  return excess;
}

}  // namespace

std::vector<SuspectPart> parts_of(const views::Figures& figures, const database::Suspect& suspect,
                                  std::span<const std::uint32_t> compared) {
  const database::Contents& experiment = figures.experiment();
  const std::optional<std::uint32_t> time = views::metric_named(experiment, "REALTIME");
  Callees callees;
  for (const ContextId scope : suspect.scopes) collect(experiment, scope, callees);
  const double least_s = kNotable * seconds_of(suspect.excess_ns);
  std::vector<SuspectPart> parts;
  for (const auto& [procedure, contexts] : callees) {
    double all_s = 0;
    for (const ContextId x : contexts)
      all_s +=
          time ? static_cast<double>(figures.context(suspect.role, *time, x, true).sum) / kNsPerSecond : 0;
    if (all_s < least_s) continue;  // spares a look at threads
    const SuspectPart part{.context = contexts.front(),
                           .excess_s = excess_s(figures, contexts, suspect, compared)};
    if (part.excess_s >= least_s) parts.push_back(part);
  }
  if (parts.size() < 2) return {};
  std::ranges::stable_sort(parts, std::ranges::greater(), &SuspectPart::excess_s);
  parts.resize(std::min(parts.size(), kMostParts));
  return parts;
}

}  // namespace culprit::viewer
