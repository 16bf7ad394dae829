// Hosts that did not compare their clocks are brought to one by the time of day, on any number of ranks.
#include "merge/timelines/host_clocks.hpp"

#include "database/database.hpp"
#include "exchange/threads.hpp"
#include "measurement/trace_operation.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace host_clocks_test {

using namespace culprit;
using measurement::trace::ClockPair;

namespace {

constexpr std::int64_t kDay = 1'700'000'000'000'000'000;
constexpr std::int64_t kHour = 3'600'000'000'000;

struct Process {
  std::string host;
  std::int64_t booted = 0;       ///< the time of day minus CLOCK_MONOTONIC
  std::int64_t interrupted = 0;  ///< between the clocks, in both readings
  std::uint64_t round_trip = 0;  ///< of a comparison; 0: there was none
};

/// By how much each process was moved, and what is said of the clocks.
struct Moved {
  std::vector<std::int64_t> by;
  std::uint64_t error = 0;
};

Moved move(const std::vector<Process>& processes, int ranks) {
  Moved moved{.by = std::vector<std::int64_t>(processes.size())};
  exchange::run_on_threads(ranks, [&](exchange::Communicator& comm) {
    std::vector<merge::ProcessClock> own;
    for (std::size_t i = 0; i < processes.size(); ++i) {
      if (static_cast<int>(i) % ranks != comm.rank()) continue;
      const Process& process = processes[i];
      std::vector<ClockPair> pairs;
      for (const std::uint64_t monotonic : {std::uint64_t{1'000}, std::uint64_t{9'000}})
        pairs.push_back(
            {.monotonic_ns = monotonic,
             .realtime_ns = process.booted + static_cast<std::int64_t>(monotonic) + process.interrupted,
             .reference = measurement::trace::kNobody});
      if (process.round_trip != 0)
        pairs.push_back(
            {.monotonic_ns = 2'000, .realtime_ns = 0, .reference = 0, .round_trip_ns = process.round_trip});
      own.emplace_back(process.host, static_cast<std::int32_t>(i), pairs);
      own.back().move = [&moved, i](std::int64_t ns) { moved.by[i] = ns; };
    }
    const std::uint64_t error = merge::bring_to_one_clock(comm, own);
    if (comm.rank() == 0) moved.error = error;
  });
  return moved;
}

}  // namespace

TEST_CASE("hosts that did not compare their clocks are moved to the clock of rank 0's") {
  // The second process of b was not interrupted between its two clocks; rank 0's host is not the first by
  // name.
  const std::vector<Process> processes = {
      {.host = "c", .booted = kDay},
      {.host = "b", .booted = kDay - 2 * kHour, .interrupted = 4'000'000},
      {.host = "b", .booted = kDay - 2 * kHour},
      {.host = "a", .booted = kDay + kHour},
  };
  for (const int ranks : {1, 3, 4}) {
    const Moved moved = move(processes, ranks);
    CHECK(moved.by == std::vector<std::int64_t>{0, -2 * kHour, -2 * kHour, kHour});
    CHECK(moved.error == database::kClocksNotCompared);
  }
}

TEST_CASE("hosts that share a clock are left alone, whatever interrupted its readings") {
  const Moved moved =
      move({{.host = "a", .booted = kDay}, {.host = "b", .booted = kDay, .interrupted = 4'000'000}}, 2);
  CHECK(moved.by == std::vector<std::int64_t>{0, 0});
  CHECK(moved.error == 0);
}

TEST_CASE(
    "hosts that compared their clocks are left alone, and half of the longest round trip is what they may "
    "differ by") {
  const std::vector<Process> processes = {{.host = "a", .booted = kDay, .round_trip = 200},
                                          {.host = "b", .booted = kDay - kHour, .round_trip = 3'000}};
  for (const int ranks : {1, 2}) {
    const Moved moved = move(processes, ranks);
    CHECK(moved.by == std::vector<std::int64_t>{0, 0});
    CHECK(moved.error == 1'500);
  }
}

TEST_CASE("no time line has no clock") {
  CHECK(move({}, 2).error == 0);
}

}  // namespace host_clocks_test
