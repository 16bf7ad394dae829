// A thread stands where all looks that saw it show the same path, down to what the program has called of MPI
// or of the system: what happens inside of that call is the system's affair. (A program may have come back to
// the same place meanwhile: two looks cannot exclude that, three seldom err.) Where the program's own code is
// innermost and registers change, it runs in a short loop. A thread that moves is reported in the
// innermost function that it was in all the time.
#include "stacks/whereabouts.hpp"

#include "print/text.hpp"
#include "stacks/tree.hpp"
#include "stuck/words.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace culprit::stacks {
namespace {

/// A path as far as it is the program's affair, and comparable: without lines of the system.
std::vector<Frame> own_part(const Path& path) {
  std::vector<Frame> frames = shown_frames(path, {});
  for (Frame& frame : frames) {
    if (is_of_system(frame)) frame.line = 0;
  }
  return frames;
}

bool is_same(const Frame& a, const Frame& b) {
  return a.name == b.name && a.module == b.module;
}

bool is_same_place(const std::vector<Frame>& a, const std::vector<Frame>& b) {
  return std::ranges::equal(a, b,
                            [](const Frame& x, const Frame& y) { return is_same(x, y) && x.line == y.line; });
}

Whereabouts place_of_thread(const Observation& observation, std::size_t location) {
  Whereabouts found;
  found.main = observation.locations[location].thread == 0;
  std::vector<Frame> common;
  std::size_t looks = 0;
  for (const std::size_t seen : observation.seen[location]) {
    if (seen == kNotSeen) continue;
    std::vector<Frame> path = own_part(observation.paths[seen]);
    if (++looks == 1) {
      common = std::move(path);
      continue;
    }
    found.stands = found.stands && is_same_place(common, path);
    const auto [end, other] = std::ranges::mismatch(common, path, is_same);
    common.erase(end, common.end());
  }
  found.once = looks == 1;
  if (common.empty()) return found;
  found.in = common.back().name;
  if (common.size() > 1) found.under = common[common.size() - 2].name;
  // Of a thread of the system it says most whose it is.
  if (std::ranges::all_of(common, is_of_system)) found.under = common.front().module;
  const bool own = !is_of_system(common.back());
  if (own && location < observation.busy.size() && observation.busy[location]) found.stands = false;
  // Of a call the program's line, of the program's own code the line itself.
  if (found.stands) found.at = place_of(own || common.size() < 2 ? common.back() : common[common.size() - 2]);
  return found;
}

/// Of ascending numbers: `thread 3`, `threads 1-15`.
std::string threads_in_words(const std::vector<std::int32_t>& threads) {
  return (threads.size() == 1 ? "thread " : "threads ") + stuck::rank_ranges(threads);
}

/// Of processes that are no ranks.
void add_others(const Observation& observation, const std::vector<std::size_t>& others,
                std::vector<std::string>& names) {
  std::set<std::uint64_t> processes;
  std::vector<std::int32_t> threads;
  bool main = false;
  for (const std::size_t location : others) {
    const Location& self = observation.locations[location];
    processes.insert(self.pid);
    main = main || self.thread == 0;
    if (self.thread != 0) threads.push_back(static_cast<std::int32_t>(self.thread));
  }
  if (observation.processes == 1) {
    if (main) names.emplace_back("main thread");
    if (!threads.empty()) names.push_back(threads_in_words(threads));
    return;
  }
  constexpr std::size_t kFew = 3;
  const std::size_t mains = others.size() - threads.size();
  std::string list;
  for (const std::uint64_t pid : processes) list += (list.empty() ? "" : ", ") + std::to_string(pid);
  const bool few = processes.size() <= kFew;
  const std::string of = few ? (processes.size() == 1 ? "process " : "processes ") + list
                             : std::to_string(processes.size()) + " processes";
  if (mains == others.size()) {
    names.push_back(of);
  } else {
    names.push_back(print::counted(others.size(), "thread") + " of " + of);
  }
}

std::string all_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

std::string place_of(const Frame& frame) {
  if (frame.line == 0 || frame.file.empty()) return "";
  return frame.file.substr(frame.file.rfind('/') + 1) + ':' + std::to_string(frame.line);
}

std::string names_of(const Observation& observation, std::span<const std::size_t> locations) {
  std::vector<std::int32_t> ranks;
  std::set<std::int32_t> with_threads;
  std::vector<std::size_t> others;
  std::size_t threads = 0;
  for (const std::size_t location : locations) {
    const Location& self = observation.locations[location];
    if (self.rank < 0) {
      others.push_back(location);
    } else if (self.thread == 0) {
      ranks.push_back(self.rank);
    } else {
      with_threads.insert(self.rank);
      ++threads;
    }
  }
  std::vector<std::string> names;
  if (!ranks.empty()) names.push_back(stuck::ranks_in_words(ranks));
  if (threads != 0) {
    const std::vector<std::int32_t> of(with_threads.begin(), with_threads.end());
    names.push_back(print::counted(threads, "thread") + " of " + stuck::ranks_in_words(of));
  }
  if (!others.empty()) add_others(observation, others, names);
  return all_names(names);
}

std::vector<Whereabouts> find_whereabouts(const Observation& observation) {
  using Key = std::tuple<bool, bool, bool, std::string, std::string, std::string>;
  std::map<Key, Whereabouts> groups;
  for (std::size_t location = 0; location < observation.locations.size(); ++location) {
    Whereabouts found = place_of_thread(observation, location);
    const Key key = {found.main, found.stands, found.once, found.in, found.under, found.at};
    Whereabouts& group = groups.try_emplace(key, std::move(found)).first->second;
    group.locations.push_back(location);
  }
  std::vector<Whereabouts> all;
  all.reserve(groups.size());
  for (auto& [key, group] : groups) all.push_back(std::move(group));
  std::ranges::stable_sort(all, [](const Whereabouts& a, const Whereabouts& b) {
    if (a.main != b.main) return a.main;
    return a.locations.size() != b.locations.size() ? a.locations.size() > b.locations.size()
                                                    : a.locations < b.locations;
  });
  return all;
}

std::string in_words(const Observation& observation, const Whereabouts& whereabouts) {
  const bool one = whereabouts.locations.size() == 1;
  std::string text = names_of(observation, whereabouts.locations);
  if (whereabouts.once) {
    text += one ? " is in " : " are in ";
  } else if (whereabouts.stands) {
    text += one ? " stands in " : " stand in ";
  } else {
    text += one ? " moves within " : " move within ";
  }
  text += whereabouts.in.empty() ? "unknown code" : whereabouts.in;
  if (!whereabouts.under.empty()) text += " under " + whereabouts.under;
  if (!whereabouts.at.empty()) text += " at " + whereabouts.at;
  return text;
}

}  // namespace culprit::stacks
