// Where two ranks synchronize rarely and do much in between: a master and its workers.
#include "exchange/threads.hpp"
#include "scripted_run.hpp"
#include "waits/causes/interval_profile.hpp"
#include "waits/causes/propagated_cost.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace long_intervals_test {

using namespace culprit;
using namespace culprit::waits;
using namespace culprit::waits::testing;

namespace {

/// Each worker asks, and waits for the answer; the master answers one after the other, and works before the
/// first.
ScriptedRun served(std::int32_t workers, int rounds) {
  ScriptedRun run(workers + 1);
  std::uint64_t now = 0;
  for (int round = 0; round < rounds; ++round) {
    std::uint64_t turn = now + 1000;
    run.sample(0, turn - 1, now, 40);
    for (std::int32_t worker = 1; worker <= workers; ++worker) {
      run.call(worker, now + 10, now + 20, {message(OperationKind::send, 0)});
      run.path(1);
      run.call(0, turn, turn + 10, {message(OperationKind::receive, worker)});
      run.path(2);
      run.call(0, turn + 10 + static_cast<std::uint64_t>(worker % 3), turn + 20,
               {message(OperationKind::send, worker)});
      run.path(3);
      run.call(worker, now + 21, turn + 30, {message(OperationKind::receive, 0)});
      run.path(4);
      turn += 20;
    }
    now = turn + 100;
  }
  return run;
}

std::uint64_t waiting(const Found& found) {
  std::uint64_t sum = 0;
  for (const FoundWait& wait : found.waits) sum += is_whole_wait(wait.pattern) ? wait.ns : 0;
  return sum;
}

std::uint64_t all_costs(const DelayCosts& costs) {
  std::uint64_t sum = costs.unattributed_ns;
  for (const DelayCost& cost : costs.costs) sum += cost.short_term_ns + cost.long_term_ns;
  return sum;
}

using Sums = std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t>;

Sums sums_of(const IntervalProfile& profile) {
  Sums sums;
  for (const std::uint32_t region : profile.regions())
    sums[{region, RegionTime::kWhole}] = profile.of(region);
  for (const RegionTime& time : profile.samples()) sums[{time.region, time.context}] += time.ns;
  return sums;
}

}  // namespace

TEST_CASE("a master's waits and those of hundreds of workers are explained, to the nanosecond") {
  const ScriptedRun run = served(300, 3);
  const Found one = analyse(run, 1);
  CHECK(one.waits.size() >= 900);
  CHECK(one.unmatched == Unmatched{});
  CHECK(all_costs(one.delays) == waiting(one));
  CHECK(one.delays.contradictory_ns == 0);
  for (const Found& other :
       {analyse(run, 3), analyse(run, 2, 100, {.memory = 1, .block = 1, .calls_sorted_together = 7})}) {
    CHECK(other.delays.costs == one.delays.costs);
    CHECK(other.delays.unattributed_ns == one.delays.unattributed_ns);
    CHECK(other.hotspots == one.hotspots);
    CHECK(other.path.times == one.path.times);
  }
}

TEST_CASE("sums over a long line are what going through it gives, from anywhere to anywhere") {
  REQUIRE(rc::check("the same sums", [] {
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
    TraceStore store;
    store.open(0);
    const std::uint32_t calls = 1 + static_cast<std::uint32_t>(random() % 6000);
    std::uint64_t now = 0;
    for (std::uint32_t call = 0; call < calls; ++call) {
      const auto gap = random() % 3 * 10;
      if (call > 0 && gap > 0 && random() % 4 == 0)
        store.line(0).samples.push_back(
            {.gap = call, .charged = static_cast<std::uint32_t>(random() % 3), .ns = 5});
      now += gap;
      Event event{.enter_ns = now, .exit_ns = now + 5, .context = static_cast<std::uint32_t>(random() % 4)};
      now += 5;
      store.add(0, event);
    }
    std::optional<Regions> regions;
    exchange::run_on_threads(
        1, [&](exchange::Communicator& analysis) { regions.emplace(analysis, store.regions); });
    TimeLine& line = store.line(0);
    for (std::uint32_t call = 0; call < calls; ++call) {
      Event event = line.events[call];
      event.gap = 0xfffffffU & regions->of_gap(event.gap);
      line.events.set(call, event);
    }
    const LongLine sums(line, *regions, store.spill());
    for (int i = 0; i < 20; ++i) {
      const auto until = static_cast<std::uint32_t>(random() % calls);
      const Interval interval{.first = static_cast<std::uint32_t>(random() % (until + 1)),
                              .synced_as = static_cast<SyncedAs>(random() % 3),
                              .until = until,
                              .through = random() % 2 == 0};
      IntervalProfile direct(*regions), summed(*regions);
      direct.add(line, interval);
      sums.add(interval, summed);
      RC_ASSERT(sums_of(direct) == sums_of(summed));
    }
  }));
}

TEST_CASE("what is passed on to ranges of waits arrives, all of it, in proportion to their lengths") {
  REQUIRE(rc::check("conserved", [] {
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
    TraceStore store;
    store.open(0);
    TimeLine& line = store.line(0);
    const std::uint32_t count = 1 + static_cast<std::uint32_t>(random() % 2000);
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint64_t ns = 1 + random() % 1000;
      sum += ns;
      Wait wait;
      wait.event = i;
      wait.ns = ns;
      wait.sum_ns = sum;
      line.waits.push_back(wait);
    }
    PropagatedCost propagated(line);
    std::uint64_t given = 0, taken = 0, late = 0;
    std::vector<double> expected(count, 0);
    std::vector<std::uint32_t> ready;
    for (std::uint32_t low = count; low > 0;) {
      const std::uint32_t top = low;
      low -= 1 + static_cast<std::uint32_t>(random() % low);
      std::vector<std::pair<PropagatedCost::Range, std::uint64_t>> gifts;
      for (std::uint64_t i = random() % 30; i > 0; --i) {
        const auto last = static_cast<std::uint32_t>(random() % (top + 1));
        const PropagatedCost::Range range{static_cast<std::uint32_t>(random() % (last + 1)), last};
        if (range.first == range.last) continue;
        gifts.emplace_back(range, random() % 1'000'000);
        propagated.announce(range);
      }
      propagated.list(low);
      std::vector<bool> passed(count, false);
      const auto take = [&](std::uint32_t wait) {
        const std::uint64_t ns = propagated.take(wait);
        taken += ns;
        passed[wait] = true;
        // Rounded once at each level of the tree, for each gift at most.
        RC_ASSERT(std::abs(static_cast<double>(ns) - expected[wait]) < 200);
      };
      for (std::uint32_t wait = low; wait < top; ++wait) {
        if (propagated.complete(wait)) ready.push_back(wait);
      }
      for (const auto& [range, ns] : gifts) {
        const auto whole = static_cast<double>(propagated.length(range));
        for (std::uint32_t wait = range.first; wait < range.last; ++wait)
          expected[wait] += static_cast<double>(ns) * static_cast<double>(line.waits[wait].ns) / whole;
        given += ns;
        late += propagated.give(range, ns, ready);
      }
      for (const std::uint32_t wait : ready) {
        if (!propagated.taken(wait)) take(wait);
      }
      ready.clear();
      for (std::uint32_t wait = low; wait < top; ++wait) RC_ASSERT(passed[wait]);
      propagated.close();
    }
    RC_ASSERT(late == 0u);
    RC_ASSERT(given == taken + propagated.left());
    RC_ASSERT(propagated.left() == 0u);
  }));
}

}  // namespace long_intervals_test
