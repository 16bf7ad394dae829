// Who is waited for and does not come: processes that died or were stopped, and ranks that compute, read or
// loop while all others wait for them. Whether a long computation ever ends cannot be seen from outside: it
// is reported as what it is, after some patience.
#include "stuck/situation.hpp"
#include "stuck/words.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace culprit::stuck {
namespace {

std::string host_of(const Process& process) {
  return "process " + std::to_string(process.pid) + " on " + process.host;
}

std::string tell_gone(const Process& process) {
  const std::string what = name_of(process) + " (" + host_of(process) + ") ";
  const std::size_t thread = process.crashed < 0 ? 0 : static_cast<std::size_t>(process.crashed);
  const std::string where = process.threads.empty() ? "" : "; it was " + whereabouts(process.threads[thread]);
  switch (process.life) {
    case Life::died:
      return what + (process.crash.empty() ? "died, " : "was ended by " + process.crash + ", ") +
             span_of_time(process.silent_s) + " ago" + where;
    case Life::stopped:
      return what + "is stopped by a signal, since " + span_of_time(process.silent_s) + where +
             " (kill -CONT " + std::to_string(process.pid) + " lets it go on)";
    default:
      return what + "has given no sign of life for " + span_of_time(process.silent_s) +
             ": it is stopped or dead, or its host does not answer" + where;
  }
}

std::string tell_all_gone(Life life, const std::vector<std::int32_t>& ranks) {
  switch (life) {
    case Life::died:
      return ranks_in_words(ranks) + " died";
    case Life::stopped:
      return ranks_in_words(ranks) + " are stopped by a signal";
    default:
      return ranks_in_words(ranks) + " have given no sign of life";
  }
}

/// How long a thread has been where it is, in no call; 0: unknown.
double outside_since(const Process& process, const Thread& thread) {
  return thread.inside || thread.since_ns == 0 || process.now_ns < thread.since_ns
             ? 0
             : static_cast<double>(process.now_ns - thread.since_ns) / 1e9;
}

/// What keeps a process that makes no call of MPI, as far as is known: after a colon.
std::string reason_of(const Process& process) {
  const Thread& thread = process.threads.front();
  for (const LockWait& wait : process.lock_waits) {
    if (wait.tid != thread.tid) continue;
    const auto holder = std::ranges::find(process.threads, wait.owner, &Thread::tid);
    if (wait.owner == 0 || holder == process.threads.end()) return "it waits for a lock";
    return "it waits for a lock that thread " + std::to_string(holder->ordinal) + " holds, " +
           whereabouts(*holder);
  }
  return thread.asleep ? "it sleeps there, or waits for something outside of MPI"
                       : "a loop without end, or long work that only it has";
}

std::vector<std::int32_t> waiters_for(const Situation& situation, const std::set<std::int32_t>& ranks) {
  std::vector<std::int32_t> waiters;
  for (const Standing& each : situation.standing()) {
    if (std::ranges::any_of(each.waits.ranks, [&](std::int32_t rank) { return ranks.contains(rank); }))
      waiters.push_back(each.process->rank);
  }
  std::ranges::sort(waiters);
  waiters.erase(std::unique(waiters.begin(), waiters.end()), waiters.end());
  return waiters;
}

}  // namespace

/// Of many in one state, one sentence and that of the first.
void find_gone(const Situation& situation, std::vector<Problem>& problems) {
  constexpr std::size_t kMostTold = 4;
  for (const Life life : {Life::died, Life::stopped, Life::silent}) {
    std::vector<std::int32_t> ranks;
    for (const Process& process : situation.ranks().picture().processes) {
      if (process.rank >= 0 && process.life == life) ranks.push_back(process.rank);
    }
    if (ranks.size() > kMostTold) {
      const Process* const first = situation.ranks().find(ranks.front());
      std::string text = tell_all_gone(life, ranks) + ": " + tell_gone(*first);
      problems.push_back(
          {.kind = ProblemKind::not_moving, .ranks = std::move(ranks), .text = std::move(text)});
      continue;
    }
    for (const std::int32_t rank : ranks) {
      problems.push_back({.kind = ProblemKind::not_moving,
                          .ranks = {rank},
                          .text = tell_gone(*situation.ranks().find(rank))});
    }
  }
}

void find_unmoving(const Situation& situation, const Picture* before, double patience_s,
                   std::vector<Problem>& problems) {
  if (situation.blocked() != 0 || situation.standing().empty()) return;
  double shortest_wait = 1e300;
  std::set<const Thread*> standing;
  for (const Standing& each : situation.standing()) {
    shortest_wait = std::min(shortest_wait, each.row.since_s);
    standing.insert(each.thread);
  }
  std::set<std::int32_t> busy;
  double longest = 0;
  for (const Process& process : situation.ranks().picture().processes) {
    if (process.rank < 0 || process.life == Life::ended) continue;
    if (situation.is_waiting(process.rank)) continue;
    // Threads may make no call of MPI at all: then nothing is known of when they last did.
    if (process.threads.empty() || (before == nullptr && !situation.ranks().picture().over)) return;
    for (const Thread& thread : process.threads) {
      if (standing.contains(&thread)) continue;
      if (thread.inside) return;  // in another call than at the first look
      const double seconds = outside_since(process, thread);
      if (seconds < patience_s) return;  // it has made a call lately: it moves
      longest = std::max(longest, seconds);
    }
    busy.insert(process.rank);
  }
  if (busy.empty() || shortest_wait < patience_s) return;
  const std::vector<std::int32_t> waiters = waiters_for(situation, busy);
  if (waiters.empty()) return;
  Problem problem;
  problem.kind = ProblemKind::not_moving;
  problem.ranks.assign(busy.begin(), busy.end());
  const Process* const first = situation.ranks().find(*busy.begin());
  problem.text = ranks_in_words(problem.ranks) + (busy.size() == 1 ? " has" : " have") +
                 " made no MPI call for " + span_of_time(longest) + " and " +
                 (busy.size() == 1 ? "is " : "are ") + whereabouts(first) +
                 (busy.size() == 1 ? "" : " (rank " + std::to_string(first->rank) + ")") + "; " +
                 ranks_in_words(waiters) + (waiters.size() == 1 ? " waits" : " wait") + " for " +
                 (busy.size() == 1 ? "it: " + reason_of(*first)
                                   : "them: a loop without end, or long work that only they have");
  problems.push_back(std::move(problem));
}

}  // namespace culprit::stuck
