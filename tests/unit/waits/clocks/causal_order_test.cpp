#include "waits/clocks/causal_order.hpp"

#include "scripted_run.hpp"
#include "simulated_run.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace causal_order_test {

using namespace culprit::waits;
using namespace culprit::waits::testing;

namespace {

/// How one host's clock shows a time: behind, and slower by some parts in a million. All clocks start
/// late enough for any.
struct HostClock {
  std::uint64_t behind_ns = 0, slow_ppm = 0;
  static constexpr std::uint64_t kStart = 100'000'000;
  [[nodiscard]] std::uint64_t operator()(std::uint64_t ns) const {
    return kStart + ns - behind_ns - ns / 1'000'000 * slow_ppm - ns % 1'000'000 * slow_ppm / 1'000'000;
  }
};

/// Ranks are placed on the hosts in turn (round robin).
void set_clocks(ScriptedRun& run, const std::vector<HostClock>& hosts) {
  for (std::size_t rank = 0; rank < run.processes.size(); ++rank) {
    const HostClock& clock = hosts[rank % hosts.size()];
    for (auto& thread : run.processes[rank].threads) {
      for (Record& record : thread) {
        record.enter_ns = clock(record.enter_ns);
        record.exit_ns = clock(record.exit_ns);
      }
    }
  }
}

/// As recorded: enter and exit of each call of a rank's first time line.
std::vector<std::pair<std::uint64_t, std::uint64_t>> recorded(const ScriptedRun& run, std::size_t rank) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> calls;
  for (const Record& record : run.processes[rank].threads[0]) {
    if (record.kind == culprit::measurement::trace::RecordKind::call)
      calls.emplace_back(record.enter_ns, record.exit_ns);
  }
  return calls;
}

}  // namespace

TEST_CASE("a receive that precedes its send is moved behind it, and what follows keeps its distance") {
  ScriptedRun run(2);
  for (std::int32_t rank = 0; rank < 2; ++rank) run.call(rank, 0, 10, {on(OperationKind::initialize)});
  run.call(0, 1000, 1010, {message(OperationKind::send, 1)});
  run.call(1, 400, 520, {message(OperationKind::receive, 0)});  // this clock is 500 behind
  run.call(1, 620, 630, {on(OperationKind::barrier)});
  run.call(1, 120'000, 120'010, {on(OperationKind::barrier)});
  const Ordered found = read_ordered(run, 2);
  CHECK(found.violations == 1);
  CHECK(found.left == 0);
  REQUIRE(found.calls[1].size() == 4);
  CHECK(found.calls[1][1] == std::pair<std::uint64_t, std::uint64_t>(400, 1001));
  CHECK(found.calls[1][2].first == 620 + 481 - 1);  // a hundredth of the 100 ns since
  CHECK(found.calls[1][3].first == 120'000);        // recovered
  CHECK(found.calls[0][1].first == 1000);
}

TEST_CASE("what a long chain of wrong clocks leaves is counted") {
  // Each rank's clock is 1000 behind that of the rank it receives from: each reading moves all receives by
  // 1000, and so makes all but the first come too early again.
  const auto chain = [](std::int32_t ranks) {
    ScriptedRun run(ranks);
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      const std::uint64_t at = 1'000'000 - 1000 * static_cast<std::uint64_t>(rank);
      run.call(rank, 0, 10, {on(OperationKind::initialize)});
      if (rank > 0) run.call(rank, at, at + 10, {message(OperationKind::receive, rank - 1)});
      if (rank + 1 < ranks) run.call(rank, at + 20, at + 30, {message(OperationKind::send, rank + 1)});
    }
    return run;
  };
  for (const int analysts : {1, 3}) {
    const Ordered mended = read_ordered(chain(16), analysts);
    CHECK(mended.violations == 15);
    CHECK(mended.left == 0);
    const Ordered found = read_ordered(chain(20), analysts);
    CHECK(found.violations == 19);
    CHECK(found.left == 4);  // those to which fifteen readings did not get
  }
}

TEST_CASE("where clocks agree nothing moves") {
  SimulatedRun simulated = simulate(7, 5, 60);
  const Ordered found = read_ordered(simulated.run, 2);
  CHECK(found.violations == 0);
  for (std::size_t rank = 0; rank < 5; ++rank) CHECK(found.calls[rank] == recorded(simulated.run, rank));
}

TEST_CASE("whatever the hosts' clocks are off by and drift, causes come before their effects") {
  std::uint64_t violations = 0;
  REQUIRE(rc::check("order is kept, and distances nearly", [&violations] {
    const std::int32_t ranks = *rc::gen::inRange(2, 9);
    SimulatedRun simulated = simulate(*rc::gen::arbitrary<std::uint64_t>(), ranks, *rc::gen::inRange(1, 60));
    std::vector<HostClock> hosts(*rc::gen::inRange<std::size_t>(1, 4));
    for (HostClock& host : hosts) {
      host.behind_ns = *rc::gen::inRange<std::uint64_t>(0, 2'000);
      host.slow_ppm = *rc::gen::inRange<std::uint64_t>(0, 100);
    }
    set_clocks(simulated.run, hosts);
    const Ordered found = read_ordered(simulated.run, 1);
    violations += found.violations;
    RC_ASSERT(found.left == 0u);
    for (std::size_t rank = 0; rank < found.calls.size(); ++rank) {
      const auto before = recorded(simulated.run, rank);
      RC_ASSERT(before.size() == found.calls[rank].size());
      for (std::size_t i = 0; i < before.size(); ++i) {
        const auto& [enter, exit] = found.calls[rank][i];
        RC_ASSERT(enter >= before[i].first);
        RC_ASSERT(exit >= before[i].second);
        if (i == 0) continue;
        const std::uint64_t gap = before[i].first - before[i - 1].second;
        // Each reading but the first takes a hundredth at most.
        RC_ASSERT(enter - found.calls[rank][i - 1].second + gap * 15 / 100 + 16 >= gap);
      }
    }
    RC_ASSERT(read_ordered(simulated.run, 3).calls == found.calls);
  }));
  CHECK(violations > 0);
}

}  // namespace causal_order_test
