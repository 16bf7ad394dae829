// Processors that more of the run's threads want than there are (docs/diagnosis.md): threads that spin in a
// barrier take them from those that the barrier waits for. A set of processors is what threads of a host may
// run on, sets that overlap as one; each thread wants one while it runs, and while it is ready to run.
#include "findings/crowded.hpp"

#include "findings/phrases.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace culprit::viewer {
namespace {

/// Threads per processor: fewer hinder each other little.
constexpr double kCrowded = 1.2;

struct Place {
  std::set<std::uint16_t> processors;
  std::vector<const database::ScheduledThread*> threads;

  /// Whether they have processors in common; then this has what the other had.
  bool take(Place& other) {
    if (std::ranges::none_of(other.processors, [&](std::uint16_t p) { return processors.contains(p); }))
      return false;
    processors.merge(other.processors);
    threads.insert(threads.end(), other.threads.begin(), other.threads.end());
    return true;
  }
};

Place place_of(const database::ScheduledThread& thread) {
  Place place{.processors = {}, .threads = {&thread}};
  thread.processors.each([&](std::uint16_t processor) { place.processors.insert(processor); });
  for (std::uint32_t p = 0; thread.processors.empty() && p < std::min(thread.online, 0xffffU); ++p)
    place.processors.insert(static_cast<std::uint16_t>(p));
  return place;
}

Crowd crowd_of(const Place& place) {
  Crowd crowd{.locations = {}, .processors = place.processors.size()};
  double longest_s = 0;
  for (const database::ScheduledThread* const thread : place.threads)
    longest_s = std::max(longest_s, seconds_of(thread->lived_ns));
  for (const database::ScheduledThread* const thread : place.threads) {
    // Of threads that sampling did not see throughout, the same part.
    const std::uint64_t sampled_ns = std::min(thread->sampled_ns, thread->lived_ns);
    const double part =
        thread->lived_ns == 0 ? 0 : static_cast<double>(sampled_ns) / static_cast<double>(thread->lived_ns);
    const double ready_s = std::min(seconds_of(thread->runnable_ns), seconds_of(thread->lived_ns));
    if (longest_s > 0) crowd.wanted += std::min(1.0, (seconds_of(thread->ran_ns) + ready_s) / longest_s);
    crowd.lacked_s += ready_s * part;
    crowd.bound = crowd.bound || place.processors.size() < thread->online;
    crowd.locations.push_back(thread->location);
  }
  std::ranges::sort(crowd.locations);
  return crowd;
}

/// Of each host, the sets of processors that have none in common.
using Hosts = std::map<std::string_view, std::vector<Place>>;

Hosts find_places(const database::Contents& experiment) {
  Hosts hosts;
  for (const database::ScheduledThread& thread : experiment.machine().threads) {
    Place own = place_of(thread);
    std::vector<Place>& places = hosts[std::string_view(experiment.locations[thread.location].host)];
    std::erase_if(places, [&own](Place& other) { return own.take(other); });
    places.push_back(std::move(own));
  }
  return hosts;
}

}  // namespace

double free_processors_s(const database::Contents& experiment) {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  if (experiment.machine().threads.empty()) return kUnknown;
  double free_s = 0;
  for (const auto& [host, places] : find_places(experiment)) {
    for (const Place& place : places) {
      if (place.processors.empty()) return kUnknown;
      double longest_s = 0, worked_s = 0;
      for (const database::ScheduledThread* const thread : place.threads) {
        longest_s = std::max(longest_s, seconds_of(thread->sampled_ns));
        worked_s += seconds_of(thread->work_cpu_ns);
      }
      free_s += std::max(0.0, longest_s * static_cast<double>(place.processors.size()) - worked_s);
    }
  }
  return free_s;
}

std::vector<Crowd> find_crowds(const database::Contents& experiment) {
  std::vector<Crowd> crowds;
  for (const auto& [host, places] : find_places(experiment)) {
    for (const Place& place : places) {
      Crowd crowd = crowd_of(place);
      if (crowd.processors > 0 && crowd.wanted >= kCrowded * static_cast<double>(crowd.processors))
        crowds.push_back(std::move(crowd));
    }
  }
  std::ranges::stable_sort(crowds, std::ranges::greater(), &Crowd::lacked_s);
  return crowds;
}

std::string crowd_phrase(const database::Contents& experiment, const Crowd& crowd) {
  return threads_phrase(experiment, crowd.locations) + " share " +
         keep(counted(crowd.processors, "processor")) + ", and " +
         keep(grouped(crowd.wanted, 1) + " threads") + " want one at a time";
}

}  // namespace culprit::viewer
