#include "findings/coverage.hpp"

#include "findings/diagnosis.hpp"
#include "findings/ends.hpp"
#include "findings/phrases.hpp"
#include "measurement/runtime_notes.hpp"
#include "metrics/wait_pattern.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "views/column.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

namespace culprit::viewer {
namespace {

/// What precedes the reason in a process's note that its measurement does not grow any more.
constexpr std::string_view kNoSpace = "no further space for the measurement: ";

bool is_of_ranks(const database::Contents& experiment, std::uint32_t role) {
  return experiment.run.ranks > 0 && experiment.roles[role].name == "main";
}

/// The share of the idleness within a context that time lines show to be for ranks that were late.
double share_for_late_ranks(const views::Figures& figures, const Blamed& blamed) {
  const database::Contents& experiment = figures.experiment();
  const std::optional<std::uint32_t> idleness = views::metric_named(experiment, "idleness");
  const double idle_ns =
      idleness ? static_cast<double>(figures.context(blamed.role, *idleness, blamed.context, true).sum) : 0;
  if (idle_ns <= 0) return 1;
  double late_ns = 0;
  const database::ContextId end = experiment.contexts[blamed.context].end;
  for (const database::Wait& wait : experiment.waits()) {
    if (wait.exact && blamed.context <= wait.context && wait.context < end &&
        metrics::is_whole_wait(wait.pattern) && wait.cause_location != database::kNone)
      late_ns += static_cast<double>(wait.ns);
  }
  return late_ns / idle_ns;
}

/// Whether time lines show that ranks wait for the same rank all the time, in each call that they wait in
/// within a context: most of what each waits there is for one, and that one does not wait for it in turn.
bool waits_for_the_same(const database::Contents& experiment, const Blamed& blamed) {
  constexpr double kNearlyAll = 0.8;
  using Call = std::pair<std::uint32_t, database::ContextId>;  ///< of a thread
  std::map<Call, std::map<std::uint32_t, double>> by_call;
  const database::ContextId within = blamed.context, end = experiment.contexts[within].end;
  for (const database::Wait& wait : experiment.waits()) {
    const bool here = within <= wait.context && wait.context < end;
    if (here && wait.exact && metrics::is_whole_wait(wait.pattern) && wait.cause_location != database::kNone)
      by_call[{wait.location, wait.context}][wait.cause_location] += static_cast<double>(wait.ns);
  }
  const auto waited_ns = [&by_call](const Call& call, std::uint32_t cause) {
    const auto found = by_call.find(call);
    return found == by_call.end() || !found->second.contains(cause) ? 0 : found->second.at(cause);
  };
  double all_ns = 0, same_ns = 0;
  for (const auto& [call, by_cause] : by_call) {
    double largest_ns = 0;
    for (const auto& [cause, ns] : by_cause) {
      all_ns += ns;
      // Of two ranks that are late by turns each waits for one rank, too.
      largest_ns = std::max(largest_ns, ns - waited_ns({cause, call.second}, call.first));
    }
    same_ns += largest_ns;
  }
  return all_ns > 0 && same_ns >= kNearlyAll * all_ns;
}

/// Why idleness is unexplained, behind what was found, which is `explained` of it; where all that could have
/// been was measured.
std::string reason(const views::Figures& figures, const Blamed& blamed, double explained) {
  const database::Contents& experiment = figures.experiment();
  const std::uint32_t role = blamed.role;
  if (!is_of_ranks(experiment, role)) return "the slow thread may change over time.";
  if (first_ended(experiment))
    return "ranks may have waited for a rank that ended early, or the slow rank changes over time.";
  if (experiment.trace().traced == 0)
    return "sums over the run do not show what ranks waited for; hpcrun-lite --trace does.";
  const double left_for_late = share_for_late_ranks(figures, blamed) - explained;
  if (2 * left_for_late >= 1 - explained)
    return waits_for_the_same(experiment, blamed)
               ? "in each call, ranks wait for the same rank all the time; see `causes`."
               : "the slow rank changes over time; see `causes`.";
  return explained > 0 ? "most of that is not for late ranks." : "most waiting is not for late ranks.";
}

/// The rank that nearly all exact waits within a context are for, where these are half or more of what of its
/// waiting is unexplained, beyond the share that is `explained`; kNone where there is no such one.
std::uint32_t mostly_waited_for(const database::Contents& experiment, const Blamed& blamed,
                                double explained) {
  constexpr double kNearlyAll = 0.8;
  const database::ContextId within = blamed.context;
  std::map<std::int64_t, std::pair<double, std::uint32_t>> by_rank;
  double all_ns = 0;
  for (const database::Wait& wait : experiment.waits()) {
    const bool here = within <= wait.context && wait.context < experiment.contexts[within].end;
    if (!here || !wait.exact || !metrics::is_whole_wait(wait.pattern) ||
        wait.cause_location == database::kNone)
      continue;
    const std::int64_t thread = wait.cause_location;
    auto& [ns, location] =
        by_rank[lines_are_threads(experiment) ? thread : experiment.locations[wait.cause_location].rank];
    ns += static_cast<double>(wait.ns);
    location = wait.cause_location;
    all_ns += static_cast<double>(wait.ns);
  }
  const double explained_s = explained * blamed.idle_s, left_s = blamed.idle_s - explained_s;
  for (const auto& [rank, part] : by_rank) {
    if (part.first >= kNearlyAll * all_ns && 2 * (part.first / 1e9 - explained_s) >= left_s)
      return part.second;
  }
  return database::kNone;
}

}  // namespace

std::string partly_measured(const database::Contents& experiment) {
  const database::Run& run = experiment.run;
  if (run.ranks == 0 || run.ranks >= run.world_size) return {};
  return "only " + keep(grouped(run.ranks) + " of " + counted(run.world_size, "rank")) +
         (run.ranks == 1 ? " was measured" : " were measured");
}

bool all_ranks_traced(const database::Contents& experiment) {
  return experiment.trace().traced > 0 && experiment.trace().traced >= experiment.run.ranks &&
         partly_measured(experiment).empty();
}

std::string lost_paths_text(const database::Contents& experiment) {
  constexpr std::uint64_t kFew = 10;  // one in as many says little of the others
  const auto [samples, without_path] = std::pair(experiment.quality.samples, experiment.quality.full);
  if (without_path * kFew < samples || without_path == 0) return {};
  std::string text = keep(grouped(static_cast<double>(without_path)) + " of " + counted(samples, "sample")) +
                     " have no call path, since the measurement had no space for them";
  for (const std::string& note : experiment.run.notes) {
    if (const std::size_t at = note.find(kNoSpace); at != std::string::npos)
      return text + " (" + note.substr(at + kNoSpace.size()) + ')';
  }
  return text;
}

bool ranks_without_mpi(const database::Contents& experiment) {
  const std::vector<std::string>& notes = experiment.run.notes;
  return experiment.run.ranks == 0 && std::ranges::find(notes, measurement::kRankWithoutMpi) != notes.end();
}

std::string programs_text(const database::Contents& experiment) {
  for (const std::string& note : experiment.run.notes) {
    if (note.starts_with(database::kNoteOfPrograms)) return note.substr(database::kNoteOfPrograms.size());
  }
  return {};
}

bool are_ranks_comparable(const database::Contents& experiment) {
  return experiment.run.ranks > 1 && partly_measured(experiment).empty();
}

std::string no_waits_phrase(const database::Contents& experiment) {
  if (const std::string partly = partly_measured(experiment); !partly.empty())
    return capitalized(partly) + ", so the traces do not show who waited for whom.";
  if (experiment.run.ranks == 1) return "The run has one rank, which has no other to wait for.";
  const database::TraceAnalyses& trace = experiment.trace();
  if (trace.traced < experiment.run.ranks || trace.stopped > 0 || trace.unmatched.sum() > 0)
    return "The time lines show no wait for another rank, but they are incomplete (see the notes of "
           "`report`).";
  return "No rank waited for another.";
}

std::string little_idleness_phrase(const database::Contents& experiment) {
  if (const std::string partly = partly_measured(experiment); !partly.empty())
    return capitalized(partly) + ": the others may wait.";
  if (const std::string lost = lost_paths_text(experiment); !lost.empty())
    return capitalized(lost) + ": whether these waited was not recorded.";
  return experiment.locations.size() > 1 ? "The load is balanced: there is nothing to gain from less waiting."
                                         : "There is nothing to gain from less waiting.";
}

std::string none_slower_phrase(const database::Contents& experiment, std::uint32_t role) {
  return std::string("No ") + (is_of_ranks(experiment, role) ? "rank" : "thread") +
         " is consistently slower here";
}

std::string unexplained_phrase(const views::Figures& figures, const Blamed& blamed, const std::string& left,
                               double explained) {
  const database::Contents& experiment = figures.experiment();
  const std::uint32_t role = blamed.role;
  const std::string partly = partly_measured(experiment);
  const bool several = experiment.roles[role].threads > 1;
  if (!partly.empty() && !several)
    return capitalized(partly) + ", so the measurement does not show what it waited for.";
  if (!several) {
    return is_of_ranks(experiment, role)
               ? "The run has one rank, so there is nothing to balance between ranks."
               : "There is one such thread, so there is nothing to balance between threads.";
  }
  if (2 * compared_threads(figures, role).size() < experiment.roles[role].threads) {
    return (left.empty() ? std::string("M") : left + " remain unexplained: m") +
           "ost of these threads lived less than half as long as the longest, and are not compared.";
  }
  const std::string found =
      left.empty() ? none_slower_phrase(experiment, role) : left + " remain unexplained";
  if (!partly.empty()) return found + ", but " + partly + ": the cause may lie on the others.";
  if (const std::uint32_t whom = mostly_waited_for(experiment, blamed, explained); whom != database::kNone) {
    const std::string rank = keep(threads_phrase(experiment, std::array{whom}));
    if (!left.empty()) return left + " remain unexplained, most of it waited for " + rank + ": see `causes`.";
    return "Most of it is waited for " + rank + ": see `causes`.";
  }
  return found + ": " + reason(figures, blamed, explained);
}

std::string no_suspects_phrase(const database::Contents& experiment) {
  if (const std::string partly = partly_measured(experiment); !partly.empty())
    return "No uneven code found among the threads measured; " + partly +
           ", and the cause of waiting may lie on the others.";
  if (experiment.locations.size() <= 1)
    return "No uneven code: the run has one thread, so there is nothing to balance between threads.";
  std::string text =
      "No uneven code found: over the whole run, nothing that takes longer on some ranks, or on some "
      "threads of one role, explains the waiting.";
  if (!all_ranks_traced(experiment)) {
    text += " Time lines show who is late when (hpcrun-lite --trace, then `causes`).";
  } else if (!experiment.trace().causes.empty()) {
    text += " `causes` lists who is late when.";
  }
  return text;
}

std::string partial_figures_phrase(const database::Contents& experiment) {
  const std::string partly = partly_measured(experiment);
  return partly.empty() ? partly : " But " + partly + ": these are not the figures of the whole run.";
}

bool sampling_was_stopped(const database::Contents& experiment) {
  return std::ranges::any_of(experiment.run.notes, [](const std::string& note) {
    return note.starts_with(measurement::kSamplingStopped);
  });
}

bool other_threads_call_mpi(const database::Contents& experiment) {
  return std::ranges::any_of(experiment.waits(), [&](const database::Wait& wait) {
    return wait.exact && !metrics::is_of_threads(wait.pattern) &&
           experiment.locations[wait.location].thread != 0;
  });
}

std::string no_partner_phrase(const database::Contents& experiment) {
  const database::TraceAnalyses& trace = experiment.trace();
  const database::Run& run = experiment.run;
  const bool whole =
      trace.stopped == 0 && experiment.quality.cut_short == 0 && trace.traced >= run.world_size;
  if (!whole || trace.unmatched.sum() == 0) return {};
  const std::string of = trace.unmatched_ranks.empty()
                             ? std::string()
                             : " (messages of " + ranks_phrase(trace.unmatched_ranks) + ')';
  return keep(counted(trace.unmatched.sum(), "operation")) + of +
         " found no partner in the traces: waits for them are missing here, and those for other messages of "
         "the same "
         "source and tag may be wrong.";
}

std::string cut_time_lines_phrase(const database::Contents& experiment) {
  std::string text;
  if (const std::uint64_t cut = experiment.trace().stopped; cut > 0)
    text = keep(counted(cut, "time line")) + (cut == 1 ? " ends" : " end") +
           " before the run (--trace-limit, a full disk, or damage): what came after is missing here.";
  if (const std::string cut = last_calls_phrase(experiment); !cut.empty())
    text += std::string(text.empty() ? "" : " ") + cut;
  if (experiment.trace().traced > 0 && sampling_was_stopped(experiment))
    text += std::string(text.empty() ? "" : " ") +
            "Sampling was stopped for a time, which is given here to the code before or after it.";
  if (const std::string lone = no_partner_phrase(experiment); !lone.empty())
    text += std::string(text.empty() ? "" : " ") + lone;
  return text;
}

bool traces_were_recorded(const database::Contents& experiment) {
  return std::ranges::any_of(experiment.run.notes, [](const std::string_view note) {
    return note.starts_with(database::kNoteOfTraces);
  });
}

bool lines_are_threads(const database::Contents& experiment) {
  return experiment.run.ranks == 0 && experiment.trace().traced > 0;
}

std::string of_lines(const database::Contents& experiment, std::string text) {
  if (!lines_are_threads(experiment)) return text;
  constexpr std::string_view kRank = "rank", kThread = "thread";
  for (std::size_t at = text.find(kRank); at != std::string::npos; at = text.find(kRank, at)) {
    text.replace(at, kRank.size(), kThread);
    at += kThread.size();
  }
  return text;
}

namespace {

std::string no_threads_phrase(const database::Contents& experiment) {
  const auto same = [&](std::uint32_t location) {
    const database::LocationEntry one = experiment.locations[location], first = experiment.locations[0];
    return one.pid == first.pid && one.host == first.host;
  };
  for (std::uint32_t location = 0; location < experiment.locations.size(); ++location) {
    if (!same(location))
      return "the run has no MPI ranks, which this compares, and threads of several processes are not "
             "compared (see `blame` and `waits`)";
  }
  return "the run has no MPI ranks, which this compares; of one process it compares threads, with "
         "hpcrun-lite --trace (see `blame` and `waits`)";
}

}  // namespace

std::string no_time_lines_phrase(const database::Contents& experiment) {
  if (experiment.run.ranks == 0) return no_threads_phrase(experiment);
  return traces_were_recorded(experiment)
             ? "the run's traces could not be used (merge it anew: prof-mpi --force DIR says why)"
             : "the run was measured without a trace (measure it with hpcrun-lite --trace)";
}

std::string no_calls_phrase(const database::Contents& experiment) {
  if (experiment.run.ranks == 0) return "No MPI calls were counted: the run has no MPI ranks.";
  return "No MPI calls were counted: the program made none that sends, receives, waits or moves data. "
         "MPI_Init, MPI_Finalize and calls such as MPI_Wtime are not counted" +
         std::string(experiment.trace().traced > 0 ? "." : " without a trace.");
}

double undecided_share(const views::Figures& figures, const Blamed& blamed) {
  const database::Contents& experiment = figures.experiment();
  const std::optional<std::uint32_t> idleness = views::metric_named(experiment, "idleness");
  if (!idleness || blamed.role >= experiment.roles.size()) return 0;
  double all = 0;
  double undecided = 0;
  const database::ContextId end = experiment.contexts[blamed.context].end;
  for (database::ContextId context = blamed.context + 1; context < end; ++context) {
    if ((experiment.contexts[context].flags & database::kFrontier) == 0) continue;
    bool charged_here = true;
    bool any_undecided = false;
    for (database::ContextId at = experiment.contexts[context].parent; at != blamed.context;
         at = experiment.contexts[at].parent) {
      charged_here = charged_here && experiment.balance(blamed.role, at) != database::Balance::balanced;
      any_undecided = any_undecided || experiment.balance(blamed.role, at) == database::Balance::undecided;
    }
    if (!charged_here) continue;
    const auto idle = static_cast<double>(figures.context(blamed.role, *idleness, context, true).sum);
    all += idle;
    if (any_undecided) undecided += idle;
  }
  return all > 0 ? undecided / all : 0;
}

}  // namespace culprit::viewer
