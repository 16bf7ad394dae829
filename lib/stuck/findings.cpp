// Applies the rules to a situation, those first whose problems explain most (docs/job-hangs.md), and makes
// the first problem the verdict. If a rank aborted, or left without MPI_Finalize, the launcher killed the
// others: then only deadlocks and mismatches are looked for. Ranks that their MPI library ended, since they
// had lost the launcher, are judged as if they had been killed. Where threads hold each other, ranks that do
// not move are not reported, since that is why they do not.
#include "stuck/findings.hpp"

#include "measurement/runtime_notes.hpp"
#include "stuck/words.hpp"

#include <algorithm>

namespace culprit::stuck {
namespace {

double waited_s(const Process& process, const Thread& thread) {
  return thread.since_ns == 0 || process.now_ns < thread.since_ns
             ? 0
             : static_cast<double>(process.now_ns - thread.since_ns) / 1e9;
}

std::string verdict_of(const Problem& problem) {
  if (!problem.verdict.empty()) return problem.verdict;
  switch (problem.kind) {
    case ProblemKind::deadlock:
      return "a deadlock of " + ranks_in_words(problem.ranks);
    case ProblemKind::missing_in_collective:
      return ranks_in_words(problem.ranks) + (problem.ranks.size() == 1 ? " is" : " are") +
             " missing in a collective";
    case ProblemKind::mismatch:
      return "ranks called different collectives";
    case ProblemKind::no_partner:
      return "a message without its other half";
    case ProblemKind::thread_deadlock:
      return "a deadlock of threads" + (problem.ranks.empty() ? "" : " in " + ranks_in_words(problem.ranks));
    case ProblemKind::not_moving:
      break;
  }
  return ranks_in_words(problem.ranks) + (problem.ranks.size() == 1 ? " does" : " do") + " not move";
}

/// What it looks like where nothing is wrong.
std::string not_stuck(const Situation& situation, const Picture& now) {
  const Waiting* longest = nullptr;
  for (const Standing& each : situation.standing()) {
    if (longest == nullptr || each.row.since_s > longest->since_s) longest = &each.row;
  }
  if (now.processes.empty()) return "Not stuck: no process was measured";
  if (longest == nullptr) return "Not stuck: no rank waits in one call for long";
  const Process& process = now.processes[longest->process];
  const Thread& thread = process.threads[longest->thread];
  std::string text = "Not stuck: the longest wait is that of " + name_of(process) + ", " +
                     whereabouts(thread) + " since " + span_of_time(longest->since_s);
  if (longest->ranks.empty()) return text;
  const Process* const other = situation.ranks().find(longest->ranks.front());
  return text + ", for " + ranks_in_words(longest->ranks) +
         (longest->ranks.size() == 1 ? ", which is " + whereabouts(other) : "");
}

/// Who ended a job that is over. Ranks that the launcher killed for that did not crash.
std::vector<std::int32_t> crashed_ranks(const Picture& now) {
  std::vector<std::int32_t> ranks;
  for (const Process& process : now.processes) {
    if (now.over && !process.crash.empty() && process.rank >= 0) ranks.push_back(process.rank);
  }
  return ranks;
}

/// `, in smooth at a.c:20`, `, rank 2 in smooth at a.c:20`; empty where it is not known.
std::string where_crashed(const Process& process, bool alone) {
  if (process.crashed < 0) return {};
  const Thread& thread = process.threads[static_cast<std::size_t>(process.crashed)];
  return ", " + (alone ? "" : name_of(process) + ' ') + whereabouts(thread);
}

/// `Crashed: SIGSEGV (Segmentation fault) ended rank 2, in smooth at a.c:20`
std::string crash_in_words(const std::vector<std::int32_t>& crashed, const Situation& situation) {
  const Process& first = *situation.ranks().find(crashed.front());
  const std::string where = where_crashed(first, crashed.size() == 1);
  if (first.crash == measurement::kAbort)
    return "Aborted: " + ranks_in_words(crashed) +
           " ended the job (MPI_Abort, abort or an uncaught exception)" + where;
  return "Crashed: " + first.crash + " ended " + ranks_in_words(crashed) + where;
}

/// Whether its main thread waited in a call until it ended: then that thread did not end it, but the MPI
/// library, which had lost the launcher.
bool was_ended(const Process& process) {
  return process.left && std::ranges::any_of(process.threads, [&](const Thread& thread) {
           return thread.ordinal == 0 && thread.inside && waited_s(process, thread) >= kShortestAtEnd;
         });
}

bool all_left(const Picture& now) {
  const auto rank = [](const Process& process) { return process.rank >= 0; };
  return now.over && std::ranges::any_of(now.processes, rank) &&
         std::ranges::all_of(now.processes,
                             [&](const Process& process) { return process.left || !rank(process); });
}

/// Who ended a job that is over by going: launchers then kill the others.
std::vector<std::int32_t> ranks_that_left(const Picture& now) {
  std::vector<std::int32_t> ranks;
  for (const Process& process : now.processes) {
    if (now.over && process.rank >= 0 && process.left && !was_ended(process)) ranks.push_back(process.rank);
  }
  return ranks;
}

/// As if those that were ended had lived to the end of the job.
Picture as_killed(Picture now, bool all) {
  for (Process& process : now.processes) {
    if (process.left && (all || was_ended(process))) process.life = Life::running;
  }
  return now;
}

/// Heartbeats come every quarter of a second; clocks of several hosts differ. Some launchers kill the others
/// within that time.
FirstGone first_gone(const Picture& now) {
  constexpr double kClearly = 0.5, kClearlyOnHosts = 2;
  FirstGone first;
  if (!now.over) return first;
  double longest = -1, second = -1;
  bool hosts = false;
  for (const Process& process : now.processes) {
    if (process.rank < 0) continue;
    if (process.life == Life::ended || !process.crash.empty()) return {};
    hosts = hosts || process.host != now.processes.front().host;
    second = std::max(second, std::min(longest, process.silent_s));
    if (process.silent_s <= longest) continue;
    longest = process.silent_s;
    first.rank = process.rank;
  }
  first.before_s = longest - second;
  return second >= 0 && first.before_s >= (hosts ? kClearlyOnHosts : kClearly) ? first : FirstGone();
}

std::string verdict_on(const Findings& findings, const Situation& situation, const Picture& now) {
  if (findings.stuck()) return "Stuck: " + verdict_of(findings.problems.front());
  if (!findings.crashed.empty()) return crash_in_words(findings.crashed, situation);
  if (!findings.left.empty())
    return "Left: " + ranks_in_words(findings.left) +
           " ended without MPI_Finalize (exit or return from main)";
  return not_stuck(situation, now);
}

}  // namespace

namespace {

void apply_rules(const Picture& now, const Picture* before, const Options& options, Findings& findings) {
  const Situation situation(now, before);
  const bool ended = !findings.crashed.empty() || !findings.left.empty();
  find_thread_deadlocks(now, before, findings.problems);
  if (!ended) find_gone(situation, findings.problems);
  find_mismatches(situation, findings.problems);
  find_deadlocks(situation, findings.problems);
  if (!ended) {
    find_missing(situation, findings.problems);
    find_without_partner(situation, findings.problems);
    find_waits_for_gone(situation, findings.problems);
  }
  // Threads that hold each other make no calls either: that is reported already.
  const bool threads = std::ranges::any_of(
      findings.problems, [](const Problem& problem) { return problem.kind == ProblemKind::thread_deadlock; });
  if (!threads && !ended) find_unmoving(situation, before, options.patience_s, findings.problems);
  for (const Standing& each : situation.standing()) findings.waiting.push_back(each.row);
  findings.moving = situation.moving();
  findings.verdict = verdict_on(findings, situation, now);
}

}  // namespace

Findings find(const Picture& now, const Picture* before, const Options& options) {
  Findings findings;
  findings.crashed = crashed_ranks(now);
  findings.aborted = std::ranges::any_of(
      now.processes, [](const Process& process) { return process.crash == measurement::kAbort; });
  findings.all_left = all_left(now);
  if (!findings.all_left) findings.left = ranks_that_left(now);
  findings.first_gone = first_gone(now);
  const bool killed = now.over && (findings.all_left || std::ranges::any_of(now.processes, was_ended));
  if (killed) {
    apply_rules(as_killed(now, findings.all_left), before, options, findings);
  } else {
    apply_rules(now, before, options, findings);
  }
  return findings;
}

}  // namespace culprit::stuck
