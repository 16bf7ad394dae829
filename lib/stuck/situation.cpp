// Finds who can still act in a job (docs/job-hangs.md). A thread stands in a call if both looks find it in
// that call, and, of a poll loop, if it has polled again between them. A rank is blocked if all its threads
// stand in calls that only blocked or ended ranks could end. Found from the ranks that run: each is taken off
// the calls that need it; a call that needs nobody any more sets its rank free, until none is added. Where
// one partner suffices, the first frees the call. Cost: linear in pairs of a call and a rank that it needs.
#include "stuck/situation.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace culprit::stuck {
namespace {

/// The same thread at the first look, in the process as it was then; null where it was not there.
const Thread* earlier(const Process* before, const Thread& thread) {
  if (before == nullptr) return nullptr;
  const auto found =
      std::ranges::find_if(before->threads, [&](const Thread& other) { return other.tid == thread.tid; });
  return found == before->threads.end() ? nullptr : &*found;
}

double seconds_since(const Process& process, const Thread& thread) {
  return thread.since_ns == 0 || process.now_ns < thread.since_ns
             ? 0
             : static_cast<double>(process.now_ns - thread.since_ns) / 1e9;
}

/// Who polls and then does something else looks, until its next call, as if it were still in the last poll.
/// So at the second look it has to have polled again; of a job that is over, its last sample was in the poll.
bool still_polls(const Thread& thread, const Thread* then) {
  if (thread.call.polls == 0) return true;
  if (then != nullptr) return then->call.polls != thread.call.polls;
  return std::ranges::any_of(thread.path, &Frame::mpi);
}

/// Whether the thread has been in one call since the first look, or long enough where there is one look only.
/// What a process has not written since then says nothing new.
bool has_stood(const Process& process, const Thread& thread, bool only_look, const Process* before) {
  if (!thread.inside) return false;
  if (only_look) return seconds_since(process, thread) >= kShortestAtEnd && still_polls(thread, nullptr);
  if (process.life == Life::running && before != nullptr && before->now_ns == process.now_ns) return false;
  const Thread* const then = earlier(before, thread);
  return then != nullptr && then->inside && then->number == thread.number && still_polls(thread, then);
}

}  // namespace

Situation::Situation(const Picture& now, const Picture* before) : ranks_(now) {
  std::int32_t most = -1;
  for (const Process& process : now.processes) most = std::max(most, process.rank);
  state_.assign(static_cast<std::size_t>(most) + 1, State::free);
  std::map<std::pair<std::string, std::uint64_t>, const Process*> earlier_ones;
  if (before != nullptr) {
    // Ranks come first: what a process was before an exec has its number, too.
    for (const Process& process : before->processes)
      earlier_ones.try_emplace({process.host, process.pid}, &process);
  }
  for (std::size_t i = 0; i < now.processes.size(); ++i) {
    const auto same = earlier_ones.find({now.processes[i].host, now.processes[i].pid});
    look_at(i, before == nullptr, same == earlier_ones.end() ? nullptr : same->second);
  }
  for (Standing& each : standing_) {
    each.waits = waits_for(ranks_, *each.process, *each.thread);
    each.row.ranks = each.waits.ranks;
  }
  find_blocked();
}

void Situation::look_at(std::size_t index, bool only_look, const Process* before) {
  const Process& process = ranks_.picture().processes[index];
  if (process.rank < 0) return;  // forked by a rank, or what it was before: it has no say in MPI
  const bool gone = process.life == Life::died || process.life == Life::ended ||
                    process.life == Life::stopped || process.life == Life::silent;
  bool waits = !process.threads.empty();
  for (std::size_t i = 0; i < process.threads.size(); ++i) {
    const Thread& thread = process.threads[i];
    const bool stands = has_stood(process, thread, only_look, before);
    if (stands) {
      standing_.push_back(
          {.process = &process,
           .thread = &thread,
           .row = {.process = index, .thread = i, .since_s = seconds_since(process, thread), .ranks = {}},
           .waits = {}});
    } else if (process.life != Life::ended) {
      moving_.push_back({.process = index, .thread = i});
    }
    waits = waits && stands;
  }
  state_[static_cast<std::size_t>(process.rank)] = gone ? State::gone : waits ? State::waiting : State::free;
}

void Situation::find_blocked() {
  std::vector<State> reached = state_;
  std::vector<std::vector<std::size_t>> waiters(state_.size());  // calls that wait for a rank
  std::vector<std::size_t> missing(standing_.size());            // ranks that each call still needs
  std::vector<std::size_t> free;
  const auto set_free = [&](std::int32_t rank) {
    if (rank < 0 || reached[static_cast<std::size_t>(rank)] != State::waiting) return;
    reached[static_cast<std::size_t>(rank)] = State::free;
    free.push_back(static_cast<std::size_t>(rank));
  };
  for (std::size_t rank = 0; rank < state_.size(); ++rank) {
    if (state_[rank] == State::free) free.push_back(rank);
  }
  for (std::size_t i = 0; i < standing_.size(); ++i) {
    const WaitsFor& waits = standing_[i].waits;
    missing[i] = waits.one_suffices ? 1 : waits.ranks.size();
    for (const std::int32_t rank : waits.ranks) {
      if (static_cast<std::size_t>(rank) < waiters.size())
        waiters[static_cast<std::size_t>(rank)].push_back(i);
    }
    if (waits.unknown) set_free(standing_[i].process->rank);
  }
  while (!free.empty()) {
    const std::size_t rank = free.back();
    free.pop_back();
    for (const std::size_t call : waiters[rank]) {
      if (missing[call] != 0 && --missing[call] == 0) set_free(standing_[call].process->rank);
    }
  }
  for (std::size_t rank = 0; rank < state_.size(); ++rank) {
    if (reached[rank] == State::waiting) state_[rank] = State::blocked;
  }
}

std::size_t Situation::blocked() const {
  return static_cast<std::size_t>(std::ranges::count(state_, State::blocked));
}

}  // namespace culprit::stuck
