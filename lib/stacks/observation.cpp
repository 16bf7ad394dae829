#include "stacks/observation.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace culprit::stacks {
namespace {

template <class Value>
void order(std::vector<Value>& values, const std::vector<std::size_t>& as) {
  std::vector<Value> sorted;
  sorted.reserve(values.size());
  for (const std::size_t index : as) sorted.push_back(std::move(values[index]));
  values = std::move(sorted);
}

/// Ranks first, by rank; threads of a process stay as they are.
void sort_by_rank(Observation& observation) {
  std::vector<std::size_t> numbers(observation.locations.size());
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  std::ranges::stable_sort(numbers, {}, [&](std::size_t index) {
    const std::int32_t rank = observation.locations[index].rank;
    return std::pair(rank < 0, rank);
  });
  order(observation.locations, numbers);
  order(observation.seen, numbers);
  std::vector<bool> busy;
  for (const std::size_t index : numbers) busy.push_back(observation.busy[index]);
  observation.busy = std::move(busy);
}

}  // namespace

void join(Observation& observation, Observation other) {
  std::set<std::pair<std::string, std::uint64_t>> known;
  for (const Location& each : observation.locations) known.emplace(each.host, each.pid);
  observation.looks = std::max(observation.looks, other.looks);
  observation.busy.resize(observation.locations.size());
  other.busy.resize(other.locations.size());
  const std::size_t paths = observation.paths.size();
  std::ranges::move(other.paths, std::back_inserter(observation.paths));
  std::set<std::pair<std::string, std::uint64_t>> added;
  for (std::size_t i = 0; i < other.locations.size(); ++i) {
    const std::pair process(other.locations[i].host, other.locations[i].pid);
    if (known.contains(process)) continue;
    added.insert(process);
    std::vector<std::size_t>& seen = other.seen[i];
    for (std::size_t& path : seen) path += path == kNotSeen ? 0 : paths;
    observation.locations.push_back(std::move(other.locations[i]));
    observation.seen.push_back(std::move(seen));
    observation.busy.push_back(other.busy[i]);
  }
  for (std::vector<std::size_t>& seen : observation.seen) seen.resize(observation.looks, kNotSeen);
  observation.processes += added.size();
  observation.stops_ns.resize(observation.looks);
  for (std::size_t i = 0; i < other.stops_ns.size(); ++i)
    observation.stops_ns[i] = std::max(observation.stops_ns[i], other.stops_ns[i]);
  std::ranges::move(other.unseen, std::back_inserter(observation.unseen));
  std::ranges::move(other.missed, std::back_inserter(observation.missed));
  sort_by_rank(observation);
}

bool is_start_up(const Frame& frame) {
  constexpr std::array<std::string_view, 10> kNames = {"_start",
                                                       "__libc_start_main",
                                                       "__libc_start_main_impl",
                                                       "__libc_start_call_main",
                                                       "clone",
                                                       "clone3",
                                                       "__clone3",
                                                       "__clone",
                                                       "start_thread",
                                                       "(below main)"};
  return std::ranges::find(kNames, frame.name) != kNames.end() &&
         (frame.name.starts_with('_') || frame.module.starts_with("libc"));
}

bool is_of_c_library(const Frame& frame) {
  constexpr std::array<std::string_view, 7> kBeginnings = {"[vdso]",     "ld-linux", "ld-musl", "ld-2",
                                                           "libpthread", "libc.so",  "libc-2"};
  return std::ranges::any_of(kBeginnings,
                             [&](std::string_view beginning) { return frame.module.starts_with(beginning); });
}

bool is_of_system(const Frame& frame) {
  constexpr std::array<std::string_view, 37> kBeginnings = {
      "[vdso]",   "ld-linux",    "ld-musl",     "ld-2",       "libc.so",   "libc-2",   "libm.so",
      "libm-2",   "libmvec",     "libpthread",  "librt.so",   "libdl.so",  "libgcc_s", "libstdc++",
      "libc++",   "libgfortran", "libflang",    "libgomp",    "libomp",    "libiomp5", "libquadmath",
      "libmpi",   "libopen-rte", "libopen-pal", "libpmix",    "libprrte",  "libevent", "libhwloc",
      "libuc",    "libfabric",   "libpsm",      "libibverbs", "librdmacm", "mca_",     "libculprit",
      "libmunge", "libpmi"};
  // Templates and inlined code of headers are compiled into the program.
  if (frame.file.starts_with("/usr/include/") || frame.file.find("/include/c++/") != std::string::npos)
    return true;
  return frame.mpi || std::ranges::any_of(kBeginnings, [&](std::string_view beginning) {
           return frame.module.starts_with(beginning);
         });
}

}  // namespace culprit::stacks
