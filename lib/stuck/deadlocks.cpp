// Cycles of ranks that wait for each other: the strongly connected components of the graph of blocked ranks
// (Tarjan, by Boost.Graph), each reported as a shortest cycle through its first rank. And cycles of threads
// of one process that wait for each other's mutexes: there, each waits for one.
#include "stuck/situation.hpp"
#include "stuck/words.hpp"

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/strong_components.hpp>

namespace culprit::stuck {
namespace {

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;

/// Blocked ranks, numbered, and for each whom it waits for and in which call.
struct BlockedGraph {
  std::vector<std::int32_t> rank;              // ascending
  std::map<std::int32_t, std::size_t> vertex;  // of a rank
  std::vector<const Standing*> call;           // one that each rank stands in
  Graph graph;

  explicit BlockedGraph(const Situation& situation);
};

BlockedGraph::BlockedGraph(const Situation& situation) {
  for (const Standing& each : situation.standing()) {
    const std::int32_t own = each.process->rank;
    if (!situation.is_blocked(own) || !vertex.try_emplace(own, rank.size()).second) continue;
    rank.push_back(own);
    call.push_back(&each);
    boost::add_vertex(graph);
  }
  for (const Standing& each : situation.standing()) {
    const auto from = vertex.find(each.process->rank);
    if (from == vertex.end()) continue;
    for (const std::int32_t other : each.waits.ranks) {
      const auto to = vertex.find(other);
      if (to == vertex.end()) continue;
      boost::add_edge(from->second, to->second, graph);
      if (call[from->second]->waits.ranks.empty()) call[from->second] = &each;
    }
  }
}

/// From the vertex through its component and back; the vertex stands at the beginning alone.
std::vector<std::size_t> shortest_cycle(const BlockedGraph& blocked, const std::vector<int>& component,
                                        std::size_t start) {
  std::map<std::size_t, std::size_t> from;
  std::queue<std::size_t> next;
  next.push(start);
  while (!next.empty()) {
    const std::size_t at = next.front();
    next.pop();
    const auto [begin, end] = boost::out_edges(at, blocked.graph);
    for (auto edge = begin; edge != end; ++edge) {
      const std::size_t to = boost::target(*edge, blocked.graph);
      if (to == start) {
        std::vector<std::size_t> cycle = {at};
        while (cycle.back() != start) cycle.push_back(from[cycle.back()]);
        std::ranges::reverse(cycle);
        return cycle;
      }
      if (component[to] != component[start] || !from.try_emplace(to, at).second) continue;
      next.push(to);
    }
  }
  return {};
}

std::string since(double seconds) {
  return " since " + span_of_time(seconds);
}

/// What a ring of one call is.
std::string meaning(const Standing& standing) {
  switch (standing.thread->call.kind) {
    case CallKind::send:
      return ": a ring of blocking sends above the eager limit";
    case CallKind::receive:
    case CallKind::probe:
      return ": each waits for a message that the next one has not sent";
    default:
      return "";
  }
}

std::string waits_in_words(const Standing& standing, std::int32_t next) {
  const Call& call = standing.thread->call;
  const std::string who = "rank " + std::to_string(standing.process->rank);
  std::string text = who + " is " + whereabouts(*standing.thread) + since(standing.row.since_s);
  const std::string other = "rank " + std::to_string(next);
  switch (call.kind) {
    case CallKind::lock:
    case CallKind::flush:
    case CallKind::access:
      return text +
             (call.target == next ? ", for a lock on " + other : ", for a lock that " + other + " holds");
    case CallKind::start:
    case CallKind::complete:
      return text + ", for MPI_Win_post on " + other;
    case CallKind::wait:
      return text + ", for MPI_Win_complete on " + other;
    case CallKind::collective:
    case CallKind::finalize:
      return text + ", which " + other + " has not entered";
    default:
      break;
  }
  if (call.messages.size() == 1) return text + ", for " + message_in_words(call.messages.front());
  return text + ", for " + other;
}

Problem tell_cycle(const BlockedGraph& blocked, const std::vector<std::size_t>& cycle) {
  Problem problem;
  problem.kind = ProblemKind::deadlock;
  if (cycle.size() == 1) {
    problem.text = waits_in_words(*blocked.call[cycle.front()], blocked.rank[cycle.front()]) + ": itself";
    return problem;
  }
  bool alike = true;
  double youngest = blocked.call[cycle.front()]->row.since_s;
  const std::string& name = blocked.call[cycle.front()]->thread->call.name;
  std::string ring;
  constexpr std::size_t kMostShown = 16;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const Standing& standing = *blocked.call[cycle[i]];
    if (i < kMostShown) ring += std::to_string(blocked.rank[cycle[i]]) + " -> ";
    if (i == kMostShown) ring += "... -> ";
    alike = alike && standing.thread->call.name == name;
    youngest = std::min(youngest, standing.row.since_s);
  }
  ring += std::to_string(blocked.rank[cycle.front()]);
  if (alike) {
    const std::string place = place_of(blocked.call[cycle.front()]->thread->path);
    problem.text = ring + ", each in " + name + since(youngest) + meaning(*blocked.call[cycle.front()]) +
                   (place.empty() ? "" : " (" + place + ")");
    return problem;
  }
  problem.text = ring + ": ";
  for (std::size_t i = 0; i < std::min<std::size_t>(cycle.size(), kMostShown); ++i) {
    const std::size_t next = cycle[(i + 1) % cycle.size()];
    problem.text += (i == 0 ? "" : "; ") + waits_in_words(*blocked.call[cycle[i]], blocked.rank[next]);
  }
  return problem;
}

}  // namespace

void find_deadlocks(const Situation& situation, std::vector<Problem>& problems) {
  const BlockedGraph blocked(situation);
  if (blocked.rank.empty()) return;
  std::vector<int> component(blocked.rank.size());
  const int count = boost::strong_components(
      blocked.graph,
      boost::make_iterator_property_map(component.begin(), get(boost::vertex_index, blocked.graph)));
  std::vector<std::vector<std::int32_t>> members(static_cast<std::size_t>(count));
  std::vector<std::size_t> first(static_cast<std::size_t>(count));
  for (std::size_t vertex = blocked.rank.size(); vertex-- > 0;) {
    const auto of = static_cast<std::size_t>(component[vertex]);
    members[of].push_back(blocked.rank[vertex]);
    if (members[of].size() == 1 || blocked.rank[vertex] < blocked.rank[first[of]]) first[of] = vertex;
  }
  std::vector<Problem> found;
  for (std::size_t of = 0; of < members.size(); ++of) {
    const bool alone = members[of].size() == 1;
    if (alone && !boost::edge(first[of], first[of], blocked.graph).second) continue;
    Problem problem = tell_cycle(blocked, shortest_cycle(blocked, component, first[of]));
    problem.ranks = members[of];
    std::ranges::sort(problem.ranks);
    found.push_back(std::move(problem));
  }
  std::ranges::sort(found, {}, [](const Problem& problem) { return problem.ranks.front(); });
  std::ranges::move(found, std::back_inserter(problems));
}

/// Epochs and locks of windows; messages and collectives have rules of their own.
void find_waits_for_gone(const Situation& situation, std::vector<Problem>& problems) {
  const auto is_of_window = [](const Call& call) {
    return call.kind == CallKind::lock || call.kind == CallKind::flush || call.kind == CallKind::access ||
           call.kind == CallKind::start || call.kind == CallKind::complete || call.kind == CallKind::wait;
  };
  for (const Standing& each : situation.standing()) {
    if (!is_of_window(each.thread->call) || !situation.is_blocked(each.process->rank)) continue;
    const auto gone = std::ranges::find_if(each.waits.ranks, [&](std::int32_t rank) {
      const Process* const other = situation.ranks().find(rank);
      return other != nullptr && (other->life == Life::ended || other->life == Life::died);
    });
    if (gone == each.waits.ranks.end()) continue;
    const bool ended = situation.ranks().find(*gone)->life == Life::ended;
    Problem problem;
    problem.kind = ProblemKind::no_partner;
    problem.ranks = {std::min(each.process->rank, *gone), std::max(each.process->rank, *gone)};
    problem.text = waits_in_words(each, *gone) + ", which has " + (ended ? "ended" : "died");
    problem.verdict = "rank " + std::to_string(each.process->rank) + " waits for rank " +
                      std::to_string(*gone) + ", which has " + (ended ? "ended" : "died");
    problems.push_back(std::move(problem));
  }
}

namespace {

const LockWait* wait_of(const Process& process, std::uint64_t tid) {
  const auto found = std::ranges::find(process.lock_waits, tid, &LockWait::tid);
  return found == process.lock_waits.end() ? nullptr : &*found;
}

std::string tell_lock(const Process& process, const LockWait& wait) {
  const std::string place = place_of(wait.path);
  const LockWait* const owner = wait_of(process, wait.owner);
  const std::string holder = owner == nullptr
                                 ? "thread " + std::to_string(wait.owner)
                                 : "thread " + std::to_string(owner->ordinal) + " (" + owner->role + ")";
  const double seconds = wait.since_ns == 0 || process.now_ns < wait.since_ns
                             ? 0
                             : static_cast<double>(process.now_ns - wait.since_ns) / 1e9;
  return "thread " + std::to_string(wait.ordinal) + " (" + wait.role + ")" +
         (place.empty() ? " waits" : " waits in " + place) + since(seconds) + " for a mutex that " + holder +
         " holds";
}

/// Whether the thread has been in this one wait since the first look, for the lock of the same owner.
bool has_stood(const Process& process, const LockWait& wait, bool only_look, const Process* before) {
  if (only_look)
    return wait.since_ns != 0 && process.now_ns > wait.since_ns &&
           static_cast<double>(process.now_ns - wait.since_ns) / 1e9 >= kShortestAtEnd;
  const LockWait* const then = before == nullptr ? nullptr : wait_of(*before, wait.tid);
  const auto identity = [](const LockWait& each) { return std::tuple(each.lock, each.owner, each.number); };
  return then != nullptr && identity(*then) == identity(wait);
}

/// From `start` along the owners; empty where that does not lead back.
std::vector<const LockWait*> lock_cycle(const Process& process, const LockWait& start) {
  std::vector<const LockWait*> cycle;
  const LockWait* at = &start;
  while (at != nullptr && cycle.size() <= process.lock_waits.size()) {
    cycle.push_back(at);
    at = at->owner == 0 ? nullptr : wait_of(process, at->owner);
    if (at == &start) return cycle;
  }
  return {};
}

}  // namespace

void find_thread_deadlocks(const Picture& now, const Picture* before, std::vector<Problem>& problems) {
  std::map<std::pair<std::string, std::uint64_t>, const Process*> earlier;
  if (before != nullptr) {
    for (const Process& process : before->processes) earlier[{process.host, process.pid}] = &process;
  }
  for (const Process& process : now.processes) {
    if (process.lock_waits.empty()) continue;
    const auto same = earlier.find({process.host, process.pid});
    const Process* const then = same == earlier.end() ? nullptr : same->second;
    std::set<std::uint64_t> reported;
    for (const LockWait& start : process.lock_waits) {
      const std::vector<const LockWait*> cycle = lock_cycle(process, start);
      if (cycle.empty() || reported.contains(start.tid)) continue;
      if (!std::ranges::all_of(cycle, [&](const LockWait* wait) {
            return has_stood(process, *wait, before == nullptr, then);
          }))
        continue;
      Problem problem;
      problem.kind = ProblemKind::thread_deadlock;
      if (process.rank >= 0) problem.ranks = {process.rank};
      problem.text = name_of(process);
      for (std::size_t i = 0; i < cycle.size(); ++i) {
        reported.insert(cycle[i]->tid);
        problem.text += (i == 0 ? ": " : "; ") + tell_lock(process, *cycle[i]);
      }
      if (cycle.size() == 1) problem.text += ", itself";
      problems.push_back(std::move(problem));
    }
  }
}

}  // namespace culprit::stuck
