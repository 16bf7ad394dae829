#include "findings/ends.hpp"

#include "findings/phrases.hpp"
#include "measurement/runtime_notes.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace culprit::viewer {
namespace {

struct MainThreads {
  std::vector<std::uint32_t> left;
  bool others = false;
};

/// Of ranks.
MainThreads main_threads(const database::Contents& experiment) {
  MainThreads found;
  for (std::uint32_t i = 0; i < experiment.locations.size(); ++i) {
    const database::LocationEntry location = experiment.locations[i];
    if (location.rank < 0 || location.thread != 0) continue;
    found.others = found.others || !location.left;
    if (location.left) found.left.push_back(i);
  }
  return found;
}

}  // namespace

std::vector<std::uint32_t> ranks_that_left(const database::Contents& experiment) {
  MainThreads found = main_threads(experiment);
  return found.others ? std::move(found.left) : std::vector<std::uint32_t>();
}

bool all_ranks_left(const database::Contents& experiment) {
  const MainThreads found = main_threads(experiment);
  return !found.others && found.left.size() > 1;
}

std::string exit_status_phrase(const database::Contents& experiment, const std::vector<std::uint32_t>& left) {
  if (left.size() != 1) return {};
  const std::string rank = "rank " + std::to_string(experiment.locations[left.front()].rank);
  const std::string begin = rank + measurement::kExitStatus;
  for (const std::string& note : experiment.run.notes) {
    if (note.starts_with(begin))
      return " with exit status " + note.substr(begin.size(), note.find(',') - begin.size());
  }
  return {};
}

std::string crash_phrase(const database::Contents& experiment) {
  for (const std::string& note : experiment.run.notes) {
    // What a rank started may crash, and leave the rank alive.
    const bool ended = note.find(measurement::kEndedBy) != std::string::npos;
    if (ended && (experiment.run.ranks == 0 || note.starts_with("rank "))) return note;
  }
  return {};
}

std::optional<FirstEnded> first_ended(const database::Contents& experiment) {
  constexpr std::uint64_t kAtOnce = 100'000'000;
  constexpr std::uint64_t kClearly = 500'000'000;  // of one that was killed, as much is known of its end
  constexpr std::uint64_t kClearlyOnHosts = 2'000'000'000;
  if (experiment.quality.cut_short == 0) return std::nullopt;
  constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t first = kNever, second = kNever, last = 0;
  FirstEnded found;
  for (std::uint32_t i = 0; i < experiment.locations.size(); ++i) {
    const database::LocationEntry location = experiment.locations[i];
    if (location.rank < 0 || location.thread != 0) continue;
    if (location.end_ns < first) found.location = i;
    second = std::min(second, std::max(first, location.end_ns));
    first = std::min(first, location.end_ns);
    last = std::max(last, location.end_ns);
  }
  if (second == kNever) return std::nullopt;
  found.seen = experiment.locations[found.location].cut_short;
  found.ns = (found.seen ? second : last) - first;
  const std::uint64_t clearly = experiment.run.hosts.size() > 1 ? kClearlyOnHosts : kClearly;
  return found.ns < (found.seen ? clearly : kAtOnce) ? std::nullopt : std::optional(found);
}

std::string cut_short_phrase(const database::Contents& experiment) {
  const std::uint64_t cut = experiment.quality.cut_short;
  if (cut == 0) return {};
  return keep(cut == 1 ? "1 process was" : grouped(static_cast<double>(cut)) + " processes were") +
         " cut short, or still ran when " + (cut == 1 ? "it was" : "they were") + " merged";
}

std::string last_calls_phrase(const database::Contents& experiment) {
  const std::uint64_t cut = experiment.quality.cut_short;
  if (experiment.trace().traced == 0 || cut == 0) return {};
  return cut_short_phrase(experiment) + ": the calls that " + (cut == 1 ? "it was" : "they were") +
         " in then are missing here, and only samples (`view`) show them.";
}

}  // namespace culprit::viewer
