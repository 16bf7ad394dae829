// From sums to rows of ranks and hot spots. A rank's state is what most of its main thread's time went into.
// What ran is work as far as it had a processor: its time less its CPU time, where that is more than the
// sampler's steps blur.
#include "follow/summary.hpp"

#include "follow/words.hpp"
#include "print/text.hpp"
#include "stuck/words.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace culprit::follow {
namespace {

/// CPU time is that since the thread's sample before, so short times are blurred.
constexpr double kBlurred = 0.05;

double positive(std::int64_t ns) {
  return ns <= 0 ? 0 : static_cast<double>(ns) / kNsPerSecond;
}

/// Seconds by state.
std::array<double, kShares> seconds_of(const Activity& activity) {
  std::array<double, kShares> seconds{};
  seconds[index_of(State::wait)] = positive(activity.wait);
  seconds[index_of(State::io)] = positive(activity.io);
  seconds[index_of(State::asleep)] = positive(activity.sleep);
  const double run = positive(activity.run), cpu = positive(activity.cpu);
  const double lost = run - cpu > kBlurred * run ? run - cpu : 0;
  seconds[index_of(State::no_processor)] = lost;
  seconds[index_of(State::work)] = run - lost;
  return seconds;
}

double sum(const std::array<double, kShares>& seconds) {
  double all = 0;
  for (const double each : seconds) all += each;
  return all;
}

State largest(const std::array<double, kShares>& seconds) {
  return static_cast<State>(std::ranges::max_element(seconds) - seconds.begin());
}

/// Of a spot's time, what a rank in this state spent there.
std::int64_t time_for(const Activity& activity, State state) {
  switch (state) {
    case State::wait:
      return activity.wait;
    case State::io:
      return activity.io;
    case State::asleep:
      return activity.sleep;
    default:
      return activity.run;
  }
}

/// What a spot is one of, whatever the line: procedure, call, and whether it waits there.
using Group = std::tuple<std::uint32_t, std::uint32_t, State>;

struct Gathered {
  std::map<std::uint32_t, std::int64_t> lines;  ///< ns by spot
  std::map<std::size_t, std::int64_t> by_process;
  std::int64_t ns = 0;
};

std::map<Group, Gathered> gather(const Sums& sums, std::size_t processes, const LiveTree& tree) {
  std::map<Group, Gathered> groups;
  for (std::size_t process = 0; process < processes; ++process) {
    for (const auto& [spot, activity] : sums.of(process).spots) {
      for (const State state : {State::work, State::wait, State::io, State::asleep}) {
        const std::int64_t ns = time_for(activity, state);
        if (ns == 0) continue;
        Gathered& group = groups[{tree.spots()[spot].procedure, tree.spots()[spot].call, state}];
        group.lines[spot] += ns;
        group.by_process[process] += ns;
        group.ns += ns;
      }
    }
  }
  return groups;
}

const std::string& name_of(const Code& code, std::uint32_t procedure) {
  static const std::string kNothing;
  return procedure == kNone ? kNothing : code.procedures()[procedure].name;
}

HotSpot hot_spot(const Gathered& group, State state, const std::vector<ProcessLabel>& processes,
                 const LiveTree& tree) {
  const auto most = [](const auto& entries) {
    return std::ranges::max_element(entries, {}, [](const auto& entry) { return entry.second; });
  };
  const Spot& spot = tree.spots()[most(group.lines)->first];
  const Code& code = tree.code();
  HotSpot hot;
  hot.text = in_words(spot, code);
  hot.procedure = name_of(code, spot.procedure);
  hot.call = name_of(code, spot.call);
  hot.file = spot.file == kNone ? "" : code.files()[spot.file];
  hot.line = spot.line;
  hot.state = state;
  hot.seconds = positive(group.ns);
  const std::int64_t least = most(group.by_process)->second / 2;
  for (const auto& [process, ns] : group.by_process) {
    if (ns > 0 && ns >= least && processes[process].rank >= 0) hot.ranks.push_back(processes[process].rank);
  }
  std::ranges::sort(hot.ranks);
  return hot;
}

/// Work (and input and output) before waits: what is waited for comes first.
void add_hot_spots(const Sums& sums, const std::vector<ProcessLabel>& processes, const LiveTree& tree,
                   Part& part) {
  double all = 0;
  for (const auto& [key, group] : gather(sums, processes.size(), tree)) {
    all += positive(group.ns);
    if (group.ns > 0) part.hot.push_back(hot_spot(group, std::get<State>(key), processes, tree));
  }
  for (HotSpot& hot : part.hot) hot.share = all == 0 ? 0 : hot.seconds / all;
  std::ranges::sort(part.hot, [](const HotSpot& a, const HotSpot& b) {
    const bool a_waits = a.state == State::wait, b_waits = b.state == State::wait;
    return std::tuple(a_waits, -a.seconds, a.text) < std::tuple(b_waits, -b.seconds, b.text);
  });
}

/// Where the process spent most of what it mostly did.
std::string whereabouts(const ProcessSums& sums, State state, const LiveTree& tree) {
  std::uint32_t spot = kNone;
  std::int64_t most = 0;
  for (const auto& [each, activity] : sums.spots) {
    const std::int64_t ns = time_for(activity, state);
    if (ns <= 0 || ns < most || (ns == most && each > spot)) continue;
    most = ns;
    spot = each;
  }
  return spot == kNone ? "" : in_words(tree.spots()[spot], tree.code());
}

State state_of(const ProcessLabel& label, double seconds, State mostly) {
  if (label.ended) return State::ended;
  if (label.died) return State::died;
  if (label.silent) return State::silent;
  return seconds == 0 ? State::not_sampled : mostly;
}

}  // namespace

void Standstill::look(const Part& interval) {
  constexpr double kNearlyAll = 0.95;
  const bool waits = std::ranges::all_of(interval.ranks, [](const RankRow& row) {
    return row.rank >= 0 && row.state == State::wait && row.share[index_of(State::wait)] >= kNearlyAll;
  });
  if (!waits || interval.ranks.empty()) {
    *this = {};
    return;
  }
  ++looks_;
  seconds_ += interval.seconds;
  alone_ = interval.ranks.size() == 1;
}

std::string Standstill::in_words(const std::string& directory) const {
  constexpr std::size_t kLooks = 3;
  constexpr double kSeconds = 5;
  if (looks_ < kLooks || seconds_ < kSeconds) return {};
  return std::string(alone_ ? "the rank has" : "all ranks have") + " only waited for " +
         stuck::span_of_time(seconds_) + ": viewer-cli " + print::shell_path(directory) +
         " stuck says for whom";
}

void drop_double_ranks(std::vector<ProcessLabel>& processes) {
  std::map<std::int32_t, ProcessLabel*> owners;
  for (ProcessLabel& process : processes) {
    if (process.rank < 0) continue;
    const auto [owner, first] = owners.try_emplace(process.rank, &process);
    if (first) continue;
    const bool later = process.start_ns > owner->second->start_ns;
    (later ? *owner->second : process).rank = -1;
    if (later) owner->second = &process;
  }
}

Part summarize(const Sums& sums, const std::vector<ProcessLabel>& processes, const LiveTree& tree,
               double seconds, std::string machine) {
  Part part;
  part.machine = std::move(machine);
  part.seconds = seconds;
  const bool ranks = std::ranges::any_of(processes, [](const auto& each) { return each.rank >= 0; });
  std::array<double, kShares> total{};
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const ProcessLabel& label = processes[i];
    if (ranks && label.rank < 0) continue;
    RankRow row{.rank = label.rank, .process = label.process, .key = label.key, .at = {}};
    std::array<double, kShares> spent = seconds_of(sums.of(i).main);
    row.seconds = sum(spent);
    for (std::size_t s = 0; s < kShares; ++s) {
      total[s] += spent[s];
      row.share[s] = row.seconds == 0 ? 0 : spent[s] / row.seconds;
    }
    const State mostly = largest(spent);
    row.state = state_of(label, row.seconds, mostly);
    row.here = label.here;
    if (row.state == State::silent) row.silent_s = label.silent_s;
    if (row.seconds > 0) row.at = whereabouts(sums.of(i), mostly, tree);
    part.ranks.push_back(std::move(row));
  }
  std::ranges::stable_sort(part.ranks, {}, &RankRow::rank);
  const double all = sum(total);
  for (std::size_t s = 0; s < kShares; ++s) part.share[s] = all == 0 ? 0 : total[s] / all;
  add_hot_spots(sums, processes, tree, part);
  part.diagnosis = diagnose(part);
  return part;
}

}  // namespace culprit::follow
