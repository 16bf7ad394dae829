// Collectives that do not come about: some processes have not entered (fewer collectives on the communicator
// than the number of this one), or processes entered different ones, or with different roots, as their n-th.
#include "mpi_calls/mpi_calls.hpp"
#include "stuck/situation.hpp"
#include "stuck/words.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace culprit::stuck {
namespace {

using measurement::calls::hash_of_name;
using measurement::calls::kHistory;

/// One collective of a context: who stands in it.
struct Instance {
  const Call* call = nullptr;
  std::vector<std::int32_t> ranks;
  double since_s = 0;  ///< of the one that came last
  std::string place;   ///< of the first
};

using Instances = std::map<std::pair<std::uint64_t, std::uint64_t>, Instance>;

Instances instances_of(const Situation& situation) {
  Instances instances;
  for (const Standing& each : situation.standing()) {
    const Call& call = each.thread->call;
    if (call.kind != CallKind::collective || call.context == 0 || call.sequence == 0) continue;
    Instance& instance = instances[{call.context, call.sequence}];
    if (instance.call == nullptr) {
      instance.call = &call;
      instance.since_s = each.row.since_s;
      instance.place = place_of(each.thread->path);
    }
    instance.ranks.push_back(each.process->rank);
    instance.since_s = std::min(instance.since_s, each.row.since_s);
  }
  for (auto& [key, instance] : instances) std::ranges::sort(instance.ranks);
  return instances;
}

/// `rank 3 is in MPI_Recv (exchange at halo.c:12)`; ranks in one place together.
std::string tell_absent(const Ranks& ranks, const std::vector<std::int32_t>& absent) {
  std::map<std::string, std::vector<std::int32_t>> by_place;
  for (const std::int32_t rank : absent) by_place[whereabouts(ranks.find(rank))].push_back(rank);
  std::string text;
  constexpr std::size_t kMostPlaces = 6;
  std::size_t reported = 0;
  for (const auto& [place, list] : by_place) {
    if (reported++ == kMostPlaces) return text + "; and others";
    text += (text.empty() ? "" : "; ") + ranks_in_words(list) + (list.size() == 1 ? " is " : " are ") + place;
  }
  return text;
}

/// Only the hashes of names are published.
std::string name_of_hash(std::uint32_t hash, const Instances& instances) {
  for (const auto& [key, instance] : instances) {
    if (hash_of_name(instance.call->name.c_str()) == hash) return instance.call->name;
  }
  const auto* const found =
      std::ranges::find(mpi_calls::kCalls, hash, [](const auto& call) { return hash_of_name(call.name); });
  return found == std::end(mpi_calls::kCalls) ? "another collective" : found->name;
}

/// What a process called as a context's n-th collective; false: too long ago, or not yet.
bool called_as(const Process& process, std::uint64_t context, std::uint64_t number, std::uint64_t& what) {
  const auto membership = process.contexts.find(context);
  if (membership == process.contexts.end()) return false;
  const std::uint64_t begun = membership->second.collectives;
  if (begun < number || begun - number >= kHistory) return false;
  what = membership->second.history[number % kHistory];
  return true;
}

std::string tell_call(std::uint64_t what, const Instances& instances) {
  const auto root = static_cast<std::int32_t>(what & 0xffffffff);
  return name_of_hash(static_cast<std::uint32_t>(what >> 32), instances) +
         (root < 0 ? "" : " with root " + std::to_string(root));
}

/// Empty where all called the same.
std::string tell_mismatch(const Ranks& ranks, const Instances& instances, const Instances::value_type& entry,
                          std::vector<std::int32_t>& deviating) {
  const auto& [key, instance] = entry;
  const auto context = ranks.picture().contexts.find(key.first);
  if (context == ranks.picture().contexts.end()) return "";
  const bool two_groups = context->second.kind == ContextKind::intercommunicator;
  std::map<std::uint64_t, std::vector<std::int32_t>> by_call;
  for (const std::int32_t rank : context->second.members) {
    const Process* const process = ranks.find(rank);
    std::uint64_t what = 0;
    if (process == nullptr || !called_as(*process, key.first, key.second, what)) continue;
    by_call[two_groups ? what | 0xffffffff : what].push_back(rank);
  }
  if (by_call.size() < 2) return "";
  std::vector<std::pair<std::uint64_t, std::vector<std::int32_t>>> groups(by_call.begin(), by_call.end());
  std::ranges::stable_sort(groups, std::greater{}, [](const auto& group) { return group.second.size(); });
  std::string text;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (i > 0) deviating.insert(deviating.end(), groups[i].second.begin(), groups[i].second.end());
    text +=
        (i == 0 ? "" : ", ") + ranks_in_words(groups[i].second) + " " + tell_call(groups[i].first, instances);
  }
  std::ranges::sort(deviating);
  return text;
}

}  // namespace

void find_missing(const Situation& situation, std::vector<Problem>& problems) {
  const Ranks& ranks = situation.ranks();
  for (const auto& [key, instance] : instances_of(situation)) {
    std::vector<std::int32_t> absent = ranks.absent_from(*instance.call);
    std::erase(absent, kUnknownRank);
    const bool hopeless = std::ranges::any_of(
        absent, [&](std::int32_t rank) { return situation.is_blocked(rank) || situation.is_gone(rank); });
    if (absent.empty() || !hopeless) continue;
    Problem problem;
    problem.kind = ProblemKind::missing_in_collective;
    problem.ranks = absent;
    problem.text = ranks_in_words(instance.ranks) + (instance.ranks.size() == 1 ? " is" : " are") + " in " +
                   instance.call->name + " on " + context_in_words(ranks.picture(), key.first) +
                   (instance.place.empty() ? "" : " (" + instance.place + ")") + " since " +
                   span_of_time(instance.since_s) + ", but " + ranks_in_words(absent) +
                   (absent.size() == 1 ? " has" : " have") + " not entered it: " + tell_absent(ranks, absent);
    problems.push_back(std::move(problem));
  }
}

void find_mismatches(const Situation& situation, std::vector<Problem>& problems) {
  const Ranks& ranks = situation.ranks();
  const Instances instances = instances_of(situation);
  for (const auto& entry : instances) {
    Problem problem;
    problem.kind = ProblemKind::mismatch;
    const std::string calls = tell_mismatch(ranks, instances, entry, problem.ranks);
    if (calls.empty()) continue;
    problem.text = "different calls as collective number " + std::to_string(entry.first.second) + " of " +
                   context_in_words(ranks.picture(), entry.first.first) + ": " + calls + "; " +
                   ranks_in_words(entry.second.ranks) + (entry.second.ranks.size() == 1 ? " is" : " are") +
                   " still in it" + (entry.second.place.empty() ? "" : " (" + entry.second.place + ")") +
                   ", since " + span_of_time(entry.second.since_s);
    problems.push_back(std::move(problem));
  }
}

}  // namespace culprit::stuck
