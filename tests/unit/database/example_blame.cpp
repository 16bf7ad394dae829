#include "blame/blame.hpp"
#include "example.hpp"

#include <algorithm>

namespace culprit::database {
namespace {

/// One metric's inclusive accumulators of one role, dense.
std::vector<metrics::Accumulator> dense(const Experiment& e, std::uint32_t role, std::uint32_t metric) {
  std::vector<metrics::Accumulator> accumulators(e.contexts.size());
  for (const Summary& summary : e.context_summaries) {
    if (summary.role != role || summary.metric != metric) continue;
    for (const SummaryEntry& entry : summary.entries) accumulators[entry.scope] = entry.inclusive;
  }
  return accumulators;
}

/// REALTIME − idleness, or idleness, in some contexts, for the given locations.
std::vector<std::uint64_t> times_of(const Example& example, const std::vector<std::uint32_t>& locations,
                                    const blame::Ranges& ranges, bool idle) {
  std::vector<std::uint64_t> work(example.experiment.locations.size()), idleness(work.size());
  for (std::uint32_t l = 0; l < work.size(); ++l) {
    for (const Value& value : example.profiles[l]) {  // exclusive
      const auto holds = [&](const ContextRange& range) {
        return range.first <= value.index && value.index < range.end;
      };
      if (!std::ranges::any_of(ranges, holds)) continue;
      if (value.metric == kRealtime) work[l] += value.value;
      if (value.metric != kIdleness) continue;
      work[l] -= value.value;
      idleness[l] += value.value;
    }
  }
  std::vector<std::uint64_t> times;
  for (const std::uint32_t l : locations) times.push_back(idle ? idleness[l] : work[l]);
  return times;
}

}  // namespace

void fill_blame(Example& example) {
  Experiment& e = example.experiment;
  const blame::Options options;
  for (std::uint32_t role = 0; role < e.roles.size(); ++role) {
    const auto time = dense(e, role, kRealtime);
    const auto idleness = dense(e, role, kIdleness);
    // Every sample of the example has weight 1 and was taken separately.
    std::vector<metrics::Uint128> weight_sq;
    for (const metrics::Accumulator& a : dense(e, role, kSamples)) weight_sq.push_back(a.sum);
    const std::vector<std::uint64_t> blocked(e.contexts.size());
    const blame::RoleView view{e.roles[role].threads, time, idleness, weight_sq, blocked};
    std::vector<std::uint32_t> locations;
    for (std::uint32_t l = 0; l < e.locations.size(); ++l) {
      if (e.locations[l].role == role) locations.push_back(l);
    }
    e.balance.push_back(blame::test_balance(e.contexts, view, options));
    e.blame.push_back(blame::shift_blame(e.contexts, view, e.balance.back()));
    std::vector<std::uint64_t> times;
    const auto ask = [&](const blame::Ranges& of, bool idle) -> std::span<const std::uint64_t> {
      return times = times_of(example, locations, of, idle);
    };
    const blame::ByThread values = {
        .work = [&](const blame::Ranges& of, const blame::Ranges&) { return ask(of, false); },
        .idleness = [&](ContextId x) { return ask({{.first = x, .end = e.contexts[x].end}}, true); }};
    const auto suspects =
        blame::find_suspects(e.contexts, {role, locations}, view, e.blame.back(), values, options);
    e.suspects.insert(e.suspects.end(), suspects.begin(), suspects.end());
  }
  std::ranges::stable_sort(e.suspects, std::ranges::greater(), &Suspect::explains_ns);
}

}  // namespace culprit::database
