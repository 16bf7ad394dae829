// What a suspect's culprits did beside the other threads of their role, and how sure that makes it
// (docs/algorithms.md 5.4 to 5.6, docs/blame.md). Cost: per-thread values of a few scopes for each suspect.
#include "findings/suspect_facts.hpp"

#include "blame/blame.hpp"
#include "metrics/instructions.hpp"
#include "text/quantity.hpp"
#include "views/column.hpp"
#include "views/difference.hpp"
#include "views/flat.hpp"
#include "views/frame.hpp"
#include "views/start_up.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

namespace culprit::viewer {
namespace {

using database::ContextId;
using views::metric_named;

/// Means over the culprits and over the other threads of a role, of those that are compared
/// (docs/algorithms.md 5.4).
struct Means {
  double culprits = 0, others = 0, all = 0;
};

Means means_of(std::span<const std::uint32_t> compared, const database::Suspect& suspect,
               const std::vector<double>& values) {
  Means means;
  std::vector<std::uint32_t> culprit_locations = suspect.locations;
  std::ranges::sort(culprit_locations);
  double culprits = 0;
  double others = 0;
  for (const std::uint32_t location : compared) {
    const bool culprit = std::ranges::binary_search(culprit_locations, location);
    (culprit ? means.culprits : means.others) += values[location];
    (culprit ? culprits : others) += 1;
  }
  if (culprits + others > 0) means.all = (means.culprits + means.others) / (culprits + others);
  if (culprits > 0) means.culprits /= culprits;
  if (others > 0) means.others /= others;
  return means;
}

std::optional<double> more_than_others(const Means& means) {
  if (means.others <= 0) return std::nullopt;
  return std::max(0.0, means.culprits / means.others - 1);
}

/// Whether MPI calls there move so much data for what they take that the transfers must be it: polls for
/// small messages, and setting up, do not.
bool moves_much(const views::Figures& figures, const database::Suspect& suspect) {
  constexpr double kMuch = 10e6;  // bytes in a second: a network is ten times as fast, at least
  const auto sum_of = [&](const char* name) {
    const std::optional<std::uint32_t> metric = metric_named(figures.experiment(), name);
    if (!metric) return 0.0;
    const std::vector<std::uint64_t> values = figures.per_thread(suspect.scopes, *metric, true);
    double sum = 0;
    for (const std::uint32_t location : suspect.locations) sum += static_cast<double>(values[location]);
    return sum;
  };
  return sum_of("bytes-sent") + sum_of("bytes-received") >= kMuch * sum_of("communication") / kNsPerSecond;
}

/// One metric at `scopes` by location, less what lies at or below their frontier frames.
std::vector<double> outside_waits(const views::Figures& figures, std::span<const ContextId> scopes,
                                  std::uint32_t metric) {
  const database::Contents& experiment = figures.experiment();
  std::vector<ContextId> waits;
  for (const ContextId context : scopes) {
    for (ContextId below = context; below < experiment.contexts[context].end;) {
      const bool frontier = (experiment.contexts[below].flags & database::kFrontier) != 0;
      if (frontier) waits.push_back(below);
      below = frontier ? experiment.contexts[below].end : below + 1;
    }
  }
  const std::vector<std::uint64_t> all = figures.per_thread(scopes, metric, true);
  const std::vector<std::uint64_t> inside = figures.per_thread(waits, metric, true);
  std::vector<double> result(all.begin(), all.end());
  for (std::size_t location = 0; location < result.size(); ++location)
    result[location] -= static_cast<double>(inside[location]);
  return result;
}

/// What SuspectFacts::longer_for_all says, from the other facts. `inside`: work in the suspect. Where
/// processors lack, the machine is suspected anyway.
bool take_longer_for_all(const views::Figures& figures, const SuspectFacts& facts, const Means& inside,
                         std::span<const std::uint32_t> compared) {
  constexpr double kTwice = 1;  // no processor is that slow
  constexpr double kMuch = 0.2;
  constexpr double kAlike = 2;
  const database::Contents& experiment = figures.experiment();
  const bool counted = std::ranges::any_of(metrics::kInstructions, [&](std::string_view name) {
    return metric_named(experiment, name).has_value();
  });
  const double more = facts.more_work.value_or(kTwice);
  if (counted || views::lacks_processors(experiment) || more <= 0 || more >= kTwice || facts.in_mpi ||
      reads_or_writes(facts) || lacks_cpu(facts))
    return false;
  const std::uint32_t time = *metric_named(experiment, "REALTIME");
  const Means all =
      means_of(compared, *facts.suspect, outside_waits(figures, std::array{ContextId{0}}, time));
  const Means outside{.culprits = all.culprits - inside.culprits, .others = all.others - inside.others};
  const double more_outside = more_than_others(outside).value_or(kTwice);
  return outside.culprits >= kMuch * all.culprits && more_outside < kTwice && more_outside * kAlike >= more &&
         more_outside <= more * kAlike;
}

/// Whether the culprits' excess takes hardly any CPU time.
bool sleeps(const SuspectFacts& facts) {
  constexpr double kHardlyRuns = 0.1;
  return facts.excess_cpu_share.value_or(1) < kHardlyRuns;
}

/// Whether none of the threads that are compared is of a culprit's process, but for culprits.
bool are_apart(const database::Contents& experiment, const database::Suspect& suspect,
               std::span<const std::uint32_t> compared) {
  const auto process = [&](std::uint32_t location) {
    const database::LocationEntry self = experiment.locations[location];
    return std::pair(self.host, self.pid);
  };
  return std::ranges::none_of(compared, [&](std::uint32_t other) {
    return std::ranges::find(suspect.locations, other) == suspect.locations.end() &&
           std::ranges::any_of(suspect.locations,
                               [&](std::uint32_t one) { return process(one) == process(other); });
  });
}

}  // namespace

std::vector<std::uint32_t> compared_threads(const views::Figures& figures, std::uint32_t role) {
  const database::Contents& experiment = figures.experiment();
  std::vector<std::uint32_t> compared;
  for (std::uint32_t location = 0; location < experiment.locations.size(); ++location) {
    if (experiment.locations[location].role == role) compared.push_back(location);
  }
  const std::optional<std::uint32_t> time = metric_named(experiment, "REALTIME");
  if (!time) return compared;
  const std::vector<std::uint64_t> lived = figures.per_thread(0, *time, true);
  std::uint64_t longest = 0;
  for (const std::uint32_t location : compared) longest = std::max(longest, lived[location]);
  std::erase_if(compared,
                [&](std::uint32_t location) { return blame::lived_briefly(lived[location], longest); });
  return compared;
}

SuspectFacts examine(const views::Figures& figures, const database::Suspect& suspect) {
  const database::Contents& experiment = figures.experiment();
  SuspectFacts facts;
  facts.suspect = &suspect;
  if (suspect.locations.empty()) return facts;
  const std::optional<std::uint32_t> time = metric_named(experiment, "REALTIME");
  const std::optional<std::uint32_t> idleness = metric_named(experiment, "idleness");
  const std::optional<std::uint32_t> cpu = metric_named(experiment, "CPU");
  if (!time || !idleness) return facts;

  const std::vector<std::uint64_t> wall = figures.per_thread(suspect.scopes, *time, true);
  const std::vector<std::uint64_t> idle = figures.per_thread(suspect.scopes, *idleness, true);
  std::vector<double> work(wall.size());
  for (std::size_t location = 0; location < wall.size(); ++location) {
    work[location] = static_cast<double>(wall[location]) - static_cast<double>(idle[location]);
  }
  const std::vector<std::uint32_t> compared = compared_threads(figures, suspect.role);
  const Means means = means_of(compared, suspect, work);
  facts.work_s = means.culprits / kNsPerSecond;
  facts.parts = parts_of(figures, suspect, compared);
  facts.only_here = means.others <= 0 && means.culprits > 0;
  facts.more_work = more_than_others(means);
  if (facts.only_here) {
    constexpr double kHardly = 0.1;
    ContextId named = suspect.named == 0 ? suspect.suspect : suspect.named;
    while (named != 0 && !views::is_procedure(experiment.contexts[named].kind))
      named = experiment.contexts[named].parent;
    const std::vector<ContextId> everywhere =
        views::outermost_instances(experiment, experiment.contexts[named].flat);
    const Means in_all = means_of(compared, suspect, outside_waits(figures, everywhere, *time));
    facts.only_this_place = in_all.others > kHardly * in_all.culprits;
  }

  // What of the culprits' excess a metric has.
  const auto share_of_excess = [&](const char* name) -> std::optional<double> {
    const std::optional<std::uint32_t> metric = metric_named(experiment, name);
    if (!metric || means.culprits <= means.all) return std::nullopt;
    const std::vector<std::uint64_t> values = figures.per_thread(suspect.scopes, *metric, true);
    const Means part = means_of(compared, suspect, {values.begin(), values.end()});
    return std::clamp((part.culprits - part.all) / (means.culprits - means.all), 0.0, 1.0);
  };
  facts.excess_io_share = share_of_excess("io");
  facts.in_mpi = share_of_excess("communication").value_or(0) > 0.5;
  facts.moves_data = facts.in_mpi && moves_much(figures, suspect);
  if (!cpu) return facts;
  const Means outside = means_of(compared, suspect, outside_waits(figures, suspect.scopes, *time));
  const Means on_cpu = means_of(compared, suspect, outside_waits(figures, suspect.scopes, *cpu));
  const double excess = outside.culprits - outside.all;
  if (const std::optional<WorkTime> usual = work_time(figures, suspect.role))
    facts.usual_cpu_share = usual->cpu_share();
  // Who lacks a processor takes longer for the same work.
  if (views::lacks_processors(experiment) && on_cpu.others > 0 && !facts.in_mpi)
    facts.more_work = more_than_others(on_cpu);
  if (excess > 0) facts.excess_cpu_share = std::clamp((on_cpu.culprits - on_cpu.all) / excess, 0.0, 1.0);
  facts.longer_for_all = take_longer_for_all(figures, facts, outside, compared);
  facts.may_wait = experiment.run.ranks == 0 && sleeps(facts) && are_apart(experiment, suspect, compared);
  return facts;
}

std::optional<WorkTime> work_time(const views::Figures& figures, std::uint32_t role) {
  const database::Contents& experiment = figures.experiment();
  const std::optional<std::uint32_t> time = metric_named(experiment, "REALTIME");
  const std::optional<std::uint32_t> cpu = metric_named(experiment, "CPU");
  if (!time || !cpu || experiment.contexts.empty()) return std::nullopt;
  const auto seconds = [&](std::uint32_t metric, ContextId context) {
    return static_cast<double>(figures.context(role, metric, context, true).sum) / kNsPerSecond;
  };
  WorkTime work{.wall_s = seconds(*time, 0), .cpu_s = seconds(*cpu, 0)};
  const std::vector<ContextId> start_up = views::mpi_start_up(experiment);  // it sleeps and reads
  for (ContextId context = 0; context < experiment.contexts.size();) {
    if ((experiment.contexts[context].flags & database::kFrontier) == 0 &&
        !std::ranges::binary_search(start_up, context)) {
      ++context;
      continue;
    }
    work.wall_s -= seconds(*time, context);
    work.cpu_s -= seconds(*cpu, context);
    context = experiment.contexts[context].end;
  }
  if (work.wall_s <= 0 || work.cpu_s < 0) return std::nullopt;
  return work;
}

bool reads_or_writes(const SuspectFacts& facts) {
  constexpr double kMostly = 0.5;
  return facts.excess_io_share.value_or(0) >= kMostly;
}

bool lacks_cpu(const SuspectFacts& facts) {
  if (reads_or_writes(facts)) return false;
  constexpr double kHalf = 0.5;
  constexpr double kSome = 0.1;  // what sleeps all the time lacks nothing
  const double usual = facts.usual_cpu_share.value_or(1);
  return facts.excess_cpu_share && usual >= kSome && *facts.excess_cpu_share < kHalf * usual;
}

bool may_save(const database::Contents& experiment, const SuspectFacts& facts) {
  if (lacks_cpu(facts) || facts.suspect->doubt == database::Doubt::pools) return false;
  return experiment.run.ranks > 0 || (!reads_or_writes(facts) && !sleeps(facts));
}

database::Confidence confidence_of(const SuspectFacts& facts) {
  if (lacks_cpu(facts) || facts.may_wait) return database::Confidence::hint;
  const bool sure = facts.suspect->confidence == database::Confidence::sure;
  return sure && facts.longer_for_all ? database::Confidence::likely : facts.suspect->confidence;
}

}  // namespace culprit::viewer
