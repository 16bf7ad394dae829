// The report's savings where every call is known: the run is replayed with its suspects balanced
// (docs/algorithms.md 18), in place of the estimate from sums (5.5), which knows of no wait behind a wait.
#include "commands/replayed_savings.hpp"

#include "commands/what_if.hpp"
#include "findings/coverage.hpp"
#include "merge/what_if.hpp"
#include "request/errors.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace culprit::viewer {
namespace {

namespace fs = std::filesystem;

/// What is replayed in about a second.
constexpr std::uintmax_t kQuick = std::uintmax_t{16} << 20;
constexpr double kAlike = 0.5;  // of a saving by sums: a replay's

std::uintmax_t trace_bytes(const fs::path& measurement) {
  std::uintmax_t bytes = 0;
  std::error_code error;
  constexpr auto kSkip = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator at(measurement, kSkip, error), end;
       !error && at != end && bytes <= kQuick; at.increment(error)) {
    if (at->path().extension() != ".trace") continue;
    const std::uintmax_t size = at->file_size(error);
    if (!error) bytes += size;
  }
  return bytes;
}

merge::WhatIfQuestion balanced(const database::Contents& experiment, const SuspectGroup& group) {
  merge::WhatIfQuestion question;
  for (const database::Suspect* const suspect : group) {
    merge::WhatIfChange change{.kind = merge::WhatIfChange::Kind::balance, .where = {}};
    for (const database::ContextId scope : suspect->scopes)
      change.where.push_back({scope, experiment.contexts[scope].end});
    question.changes.push_back(std::move(change));
  }
  return question;
}

}  // namespace

std::optional<std::vector<ReplayedSaving>> replayed_savings(const database::Contents& experiment,
                                                            const std::string& named,
                                                            std::span<const SuspectGroup> groups) {
  // Whoever lacks the traces of some ranks cannot know when the others would come.
  const bool whole = experiment.trace().traced > 0 && experiment.trace().traced == experiment.run.ranks &&
                     experiment.trace().stopped == 0 && !sampling_was_stopped(experiment);
  if (!whole || other_threads_call_mpi(experiment) || groups.empty()) return std::nullopt;
  std::vector<merge::WhatIfQuestion> questions;
  for (const SuspectGroup& group : groups) questions.push_back(balanced(experiment, group));
  try {
    const merge::Options options = what_if_options(experiment, named);
    if (trace_bytes(options.measurement) > kQuick) return std::nullopt;
    std::vector<ReplayedSaving> savings;
    for (const merge::WhatIfAnswer& answer : merge::what_if(options, experiment, questions)) {
      if (answer.contradictions > 0) return std::nullopt;
      savings.push_back(
          {.ns = static_cast<std::int64_t>(answer.run_ns) - static_cast<std::int64_t>(answer.predicted_ns),
           .placed_blindly = std::ranges::any_of(answer.codes, &merge::WhatIfAnswer::Code::placed_blindly)});
    }
    return savings;
  } catch (const std::runtime_error&) {
    return std::nullopt;  // whatever lacks for a replay: the report says what it knows without
  }
}

bool is_only_limit(double by_sums_s, const std::optional<ReplayedSaving>& replayed) {
  return replayed && !replayed->placed_blindly && replayed->seconds() < kAlike * by_sums_s;
}

std::string saving_phrase(const database::Contents& experiment, double by_sums_s,
                          const std::optional<ReplayedSaving>& replayed, double run_s, bool unicode) {
  const double by_sums = by_sums_s / run_s;
  if (by_sums < 0.005) return "under 1 % of the run time";
  // Sums do not know what else the threads of a process wait for.
  if (is_only_limit(by_sums_s, replayed) || (!replayed && other_threads_call_mpi(experiment)))
    return "at most " + keep(round_percent(by_sums)) + " of the run time";
  if (!replayed) return keep("about " + round_percent(by_sums)) + " of the run time";
  const double least_s = std::max(replayed->seconds(), 0.0);
  const std::string share = keep(round_percent(least_s / run_s));
  const std::string how = keep(duration(least_s, unicode)) + ", by a replay of the time lines)";
  if (replayed->placed_blindly && least_s < by_sums_s)
    return "between " + share + " (" + how + " and " + keep(round_percent(by_sums)) +
           " of the run time, depending on when the others do their part";
  return share + " of the run time (" + how;
}

std::string lock_saving_sentence(double by_sums_s, double run_s) {
  return "To hold the lock for less would save at most " + keep(round_percent(by_sums_s / run_s)) +
         " of the run time.";
}

}  // namespace culprit::viewer
