// Brings the clocks of hosts together that did not compare them (docs/algorithms.md 11). Ranks compare their
// hosts' clocks only where they know that all of them take part, which node-local directories do not show.
// Then CLOCK_MONOTONIC of two hosts differs by what one of them was booted earlier. Every trace has readings
// of it beside the time of day, which clusters keep alike to milliseconds and better. A reading that is
// interrupted between the two clocks gives too large a difference, so the least one of a host's processes
// counts. Cost: a few bytes per host and rank of the analysis.
#include "merge/timelines/host_clocks.hpp"

#include "cct/message.hpp"
#include "database/database.hpp"
#include "measurement/trace_operation.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace culprit::merge {
namespace {

/// Made-up hosts and containers of one machine share its clock; two machines are not booted in the same
/// instant.
constexpr std::int64_t kOneClock = 10'000'000;  // ns

struct HostClock {
  std::int32_t lowest_rank = std::numeric_limits<std::int32_t>::max();
  std::int64_t to_day_ns = std::numeric_limits<std::int64_t>::max();

  void add(std::int32_t rank, std::int64_t to_day) {
    lowest_rank = std::min(lowest_rank, rank);
    to_day_ns = std::min(to_day_ns, to_day);
  }
};
using HostClocks = std::map<std::string, HostClock>;

/// Collective: of all ranks' processes.
HostClocks share(exchange::Communicator& comm, const HostClocks& own) {
  cct::MessageWriter message;
  message.value(std::uint64_t{own.size()});
  for (const auto& [host, clock] : own) {
    message.text(host);
    message.value(clock.lowest_rank);
    message.value(clock.to_day_ns);
  }
  const std::vector<exchange::Bytes> copies(static_cast<std::size_t>(comm.size()), message.take());
  HostClocks all;
  for (const exchange::Bytes& bytes : comm.all_to_all(copies)) {
    cct::MessageReader reader(bytes);
    for (auto left = reader.value<std::uint64_t>(); left != 0; --left) {
      const std::string host = reader.text();
      const auto rank = reader.value<std::int32_t>();
      all[host].add(rank, reader.value<std::int64_t>());
    }
  }
  return all;
}

}  // namespace

ProcessClock::ProcessClock(std::string name, std::int32_t number,
                           std::span<const measurement::trace::ClockPair> pairs)
    : host(std::move(name)), rank(number), to_day_ns(std::numeric_limits<std::int64_t>::max()) {
  for (const measurement::trace::ClockPair& pair : pairs) {
    // Those of a comparison are not read one after the other.
    if (pair.reference == measurement::trace::kNobody) {
      to_day_ns = std::min(to_day_ns, pair.realtime_ns - static_cast<std::int64_t>(pair.monotonic_ns));
    } else {
      compared = true;
      error_ns = std::max(error_ns, pair.round_trip_ns / 2);
    }
  }
}

std::uint64_t bring_to_one_clock(exchange::Communicator& comm, std::span<const ProcessClock> own) {
  std::uint64_t compared = 0;
  std::uint64_t error = 0;
  HostClocks clocks;
  for (const ProcessClock& process : own) {
    compared += process.compared ? 1 : 0;
    error = std::max(error, process.error_ns);
    clocks[process.host].add(process.rank, process.to_day_ns);
  }
  if (comm.all_sum(compared) > 0) return comm.all_max(error);
  clocks = share(comm, clocks);
  const auto reference =
      std::ranges::min_element(clocks, {}, [](const auto& host) { return host.second.lowest_rank; });
  const auto behind = [&](const HostClock& clock) {
    const bool known = clock.to_day_ns != std::numeric_limits<std::int64_t>::max() &&
                       reference->second.to_day_ns != std::numeric_limits<std::int64_t>::max();
    const std::int64_t ns = known ? clock.to_day_ns - reference->second.to_day_ns : 0;
    return std::abs(ns) < kOneClock ? 0 : ns;
  };
  for (const ProcessClock& process : own) {
    if (const std::int64_t ns = behind(clocks.at(process.host)); ns != 0) process.move(ns);
  }
  const bool apart = std::ranges::any_of(clocks, [&](const auto& host) { return behind(host.second) != 0; });
  return apart ? database::kClocksNotCompared : 0;
}

}  // namespace culprit::merge
