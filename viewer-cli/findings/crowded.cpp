// Processors that more of the run's threads want than there are (docs/diagnosis.md): threads that spin in a
// barrier take them from those that the barrier waits for. Each thread wants one of its set of processors
// (blame/processor_sets.hpp) while it runs, and while it is ready to run.
#include "findings/crowded.hpp"

#include "blame/processor_sets.hpp"
#include "findings/phrases.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace culprit::viewer {
namespace {

/// Threads per processor: fewer hinder each other little.
constexpr double kCrowded = 1.2;

/// A set of processors of a host.
struct Place {
  std::string_view host;
  std::vector<std::uint16_t> processors;
  std::vector<const database::ScheduledThread*> threads;
};

/// Of all hosts, in the order of their names.
std::vector<Place> find_places(const database::Contents& experiment) {
  std::map<std::string_view, std::vector<const database::ScheduledThread*>> hosts;
  for (const database::ScheduledThread& thread : experiment.machine().threads)
    hosts[experiment.locations[thread.location].host].push_back(&thread);
  std::vector<Place> places;
  for (const auto& [host, threads] : hosts) {
    for (blame::SharedProcessors& shared : blame::shared_processors(threads)) {
      Place& place =
          places.emplace_back(Place{.host = host, .processors = std::move(shared.processors), .threads = {}});
      for (const std::size_t t : shared.threads) place.threads.push_back(threads[t]);
    }
  }
  return places;
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

/// Time of the place's processors in which none of the run's threads worked, in seconds.
double free_s(const Place& place) {
  double longest_s = 0, worked_s = 0;
  for (const database::ScheduledThread* const thread : place.threads) {
    longest_s = std::max(longest_s, seconds_of(thread->sampled_ns));
    worked_s += seconds_of(thread->work_cpu_ns);
  }
  return std::max(0.0, longest_s * static_cast<double>(place.processors.size()) - worked_s);
}

constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

/// By location: which of the places its threads, or of what the kernel did not say, those of its process, may
/// run in; kNowhere where no processor is known.
std::vector<std::size_t> places_by_location(const database::Contents& experiment,
                                            const std::vector<Place>& places) {
  std::vector<std::size_t> by_location(experiment.locations.size(), kNowhere);
  for (std::size_t p = 0; p < places.size(); ++p) {
    if (places[p].processors.empty()) continue;
    for (const database::ScheduledThread* const thread : places[p].threads) by_location[thread->location] = p;
  }
  std::size_t of_process = kNowhere;
  for (std::uint32_t location = 0; location < by_location.size(); ++location) {
    if (experiment.locations[location].thread == 0) of_process = by_location[location];
    if (by_location[location] == kNowhere) by_location[location] = of_process;
  }
  return by_location;
}

/// Ranks that share processors of one host.
struct SharingRanks {
  std::vector<std::uint32_t> locations;
  std::size_t processors = 0;

  [[nodiscard]] double per_processor() const {
    return static_cast<double>(locations.size()) / static_cast<double>(processors);
  }
};

}  // namespace

double waited_while_free_s(const database::Contents& experiment, std::span<const std::uint64_t> waited_ns) {
  const std::vector<Place> places = find_places(experiment);
  const std::vector<std::size_t> by_location = places_by_location(experiment, places);
  std::vector<double> waited_s(places.size());
  double sum_s = 0;
  for (std::size_t location = 0; location < waited_ns.size(); ++location) {
    const std::size_t place = by_location[location];
    (place == kNowhere ? sum_s : waited_s[place]) += seconds_of(waited_ns[location]);
  }
  for (std::size_t p = 0; p < places.size(); ++p) sum_s += std::min(waited_s[p], free_s(places[p]));
  return sum_s;
}

std::vector<Crowd> find_crowds(const database::Contents& experiment) {
  std::vector<Crowd> crowds;
  for (const Place& place : find_places(experiment)) {
    Crowd crowd = crowd_of(place);
    if (crowd.processors > 0 && crowd.wanted >= kCrowded * static_cast<double>(crowd.processors))
      crowds.push_back(std::move(crowd));
  }
  std::ranges::stable_sort(crowds, std::ranges::greater(), &Crowd::lacked_s);
  return crowds;
}

std::string crowd_phrase(const database::Contents& experiment, const Crowd& crowd) {
  return threads_phrase(experiment, crowd.locations) + " share " +
         keep(counted(crowd.processors, "processor")) + ", and " +
         keep(grouped(crowd.wanted, 1) + " threads") + " want one at a time";
}

std::string crowded_hosts_phrase(const database::Contents& experiment) {
  std::map<std::string_view, SharingRanks> hosts;
  for (const Place& place : find_places(experiment)) {
    std::vector<std::uint32_t> ranks;
    for (const database::ScheduledThread* const thread : place.threads) {
      const database::LocationEntry self = experiment.locations[thread->location];
      if (self.rank >= 0 && self.thread == 0) ranks.push_back(thread->location);
    }
    if (place.processors.empty() || ranks.size() <= place.processors.size()) continue;
    SharingRanks& sharing = hosts[place.host];
    sharing.locations.insert(sharing.locations.end(), ranks.begin(), ranks.end());
    sharing.processors += place.processors.size();
  }
  if (hosts.empty()) return {};
  const auto& [name, most] =
      *std::ranges::max_element(hosts, {}, [](const auto& host) { return host.second.per_processor(); });
  const std::string share = threads_phrase(experiment, most.locations) + " share " +
                            keep(counted(most.processors, "processor")) + " on host " + std::string(name);
  return hosts.size() == 1
             ? share
             : keep(counted(hosts.size(), "host")) + " have more ranks than processors (" + share + ')';
}

std::string hosts_phrase(const std::vector<std::string>& hosts) {
  constexpr std::size_t kFewHosts = 3;
  if (hosts.size() > kFewHosts) return "on " + keep(counted(hosts.size(), "host"));
  return (hosts.size() == 1 ? "on host " : "on hosts ") + enumerate(hosts);
}

UsableProcessors usable_processors(const database::Contents& experiment,
                                   std::span<const std::uint32_t> locations) {
  std::set<std::string_view> hosts;
  std::set<std::uint16_t> usable;
  UsableProcessors result;
  std::uint32_t allowed = 0;
  for (const database::ScheduledThread& thread : experiment.machine().threads) {
    if (!std::ranges::binary_search(locations, thread.location)) continue;
    hosts.insert(experiment.locations[thread.location].host);
    if (hosts.size() > 1 || thread.online == 0) return {};
    for (const std::uint16_t processor : blame::processors_of(thread)) usable.insert(processor);
    result.online = std::max<std::size_t>(result.online, thread.online);
    allowed = std::max(allowed, thread.allowed);
  }
  result.usable = usable.size();
  result.bound = result.usable < allowed;
  return result;
}

bool host_has_more(const database::Contents& experiment, std::span<const std::uint32_t> locations) {
  if (locations.empty()) return false;
  const std::string_view host = experiment.locations[locations.front()].host;
  std::vector<std::uint32_t> of_host;
  for (const database::ScheduledThread& thread : experiment.machine().threads) {
    if (experiment.locations[thread.location].host == host) of_host.push_back(thread.location);
  }
  return usable_processors(experiment, of_host).bound;
}

std::string on_hosts_phrase(const database::Contents& experiment, std::span<const std::uint32_t> locations) {
  std::set<std::string> hosts;
  for (const std::uint32_t location : locations) hosts.emplace(experiment.locations[location].host);
  if (hosts.empty()) return {};
  std::string text = ' ' + hosts_phrase({hosts.begin(), hosts.end()});
  const UsableProcessors processors = usable_processors(experiment, locations);
  if (processors.online == 0) return text;
  const std::string all = keep(counted(processors.online, "processor"));
  if (processors.usable >= processors.online) return text + " (" + all + ')';
  return text + ", where " + (locations.size() == 1 ? "it" : "they") + " may use only " +
         keep(grouped(static_cast<double>(processors.usable))) + " of " + all + ',';
}

}  // namespace culprit::viewer
