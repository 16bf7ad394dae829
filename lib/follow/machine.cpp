// Ranks that wait in MPI mostly poll: without a processor they are ready to run all the same, and what their
// wrappers mark as waiting is partly the machine's doing. The kernel counts how long a thread was ready to
// run without a processor. Of the merged run, docs/algorithms.md 5.6 divides that time; here its share is
// enough.
#include "follow/machine.hpp"

#include "follow/words.hpp"
#include "stuck/words.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace culprit::follow {
namespace {

/// Below this share of the time in which a thread wanted a processor, lacking one explains little.
constexpr double kMuch = 0.15;

double lacked(const Scheduling& thread) {
  const std::uint64_t wanted = thread.ran_ns + thread.runnable_ns;
  return wanted == 0 ? 0 : static_cast<double>(thread.runnable_ns) / static_cast<double>(wanted);
}

/// Threads of one host that may use the same processors.
struct Crowd {
  std::vector<const Scheduling*> all;
  std::vector<std::int32_t> ranks;  ///< those that lack a processor
  double lacked = 0;                ///< their mean share
  bool by_others = false;           ///< there are processors enough for them
};

std::string processors(std::uint32_t number) {
  return std::to_string(number) + (number == 1 ? " processor" : " processors");
}

bool by_others(const Crowd& crowd) {
  const std::uint32_t number = crowd.all.front()->processors.size();
  return number != 0 && crowd.all.size() <= number;
}

std::string in_words(const std::string& host, const Crowd& crowd) {
  const Scheduling& first = *crowd.all.front();
  const std::string who = crowd.ranks.empty() ? "processes" : stuck::ranks_in_words(crowd.ranks);
  const bool one = crowd.ranks.size() == 1;
  const std::uint32_t number = first.processors.size();
  std::string text = "on host " + host + ", ";
  if (crowd.by_others) {
    text += "others take processors from " + who + ", which lacked one";
  } else if (first.allowed != 0 && number != 0 && number < first.allowed) {
    text += who + (one ? " is" : " are") + " bound to the same " + processors(number) + ", and lacked one";
  } else {
    text += who + (one ? " shares " : " share ") + (number == 0 ? "too few processors" : processors(number)) +
            ", and lacked one";
  }
  return text + " for " + percent(crowd.lacked) + " of the time that " + (one ? "it" : "they") +
         " wanted one, within MPI calls too";
}

/// By host and processors; those whose processors would suffice for them, by host.
std::vector<Crowd> crowds_of(std::span<const Scheduling> threads) {
  std::map<std::pair<std::string, std::vector<std::uint16_t>>, Crowd> by_processors;
  for (const Scheduling& thread : threads) {
    std::vector<std::uint16_t> processors;
    thread.processors.each([&](std::uint16_t processor) { processors.push_back(processor); });
    by_processors[{thread.host, processors}].all.push_back(&thread);
  }
  std::vector<Crowd> crowds;
  std::map<std::string, Crowd> robbed;
  for (auto& [key, crowd] : by_processors) {
    if (!by_others(crowd)) {
      crowds.push_back(std::move(crowd));
      continue;
    }
    std::vector<const Scheduling*>& all = robbed[key.first].all;
    all.insert(all.end(), crowd.all.begin(), crowd.all.end());
    robbed[key.first].by_others = true;
  }
  for (auto& [host, crowd] : robbed) crowds.push_back(std::move(crowd));
  return crowds;
}

}  // namespace

std::string machine_in_words(std::span<const Scheduling> threads) {
  const Crowd* worst = nullptr;
  std::size_t places = 0;
  std::vector<Crowd> crowds = crowds_of(threads);
  for (Crowd& crowd : crowds) {
    std::size_t count = 0;
    for (const Scheduling* const thread : crowd.all) {
      if (lacked(*thread) < kMuch) continue;
      ++count;
      crowd.lacked += lacked(*thread);
      if (thread->rank >= 0) crowd.ranks.push_back(thread->rank);
    }
    if (count == 0) continue;
    crowd.lacked /= static_cast<double>(count);
    std::ranges::sort(crowd.ranks);
    ++places;
    if (worst == nullptr || crowd.lacked > worst->lacked) worst = &crowd;
  }
  if (worst == nullptr) return "";
  const std::string text = in_words(worst->all.front()->host, *worst);
  return places < 2 ? text : text + " (worst of " + std::to_string(places) + " places)";
}

}  // namespace culprit::follow
