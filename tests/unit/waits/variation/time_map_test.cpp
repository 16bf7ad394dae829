#include "waits/variation/time_map.hpp"

#include "scripted_run.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace time_map_test {

using namespace culprit::waits;
using namespace culprit::waits::testing;

namespace {

constexpr std::uint32_t kInit = 2, kBarrier = 4, kWork = 6;
constexpr std::uint64_t kMs = 1'000'000;

/// 3 ranks, 20 ms: the last one works from 2 to 12 ms, the others wait for it in a barrier.
ScriptedRun one_late() {
  ScriptedRun run(3);
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    run.call(rank, 0, 2 * kMs, {on(OperationKind::barrier)});
    run.path(kInit);
    const std::uint64_t enter = rank == 2 ? 12 * kMs : 4 * kMs;
    run.sample(rank, enter - 1, 2 * kMs, kWork);
    run.call(rank, enter, 14 * kMs, {on(OperationKind::barrier)});
    run.path(kBarrier);
    run.sample(rank, 18 * kMs - 1, 14 * kMs, kWork);
    run.call(rank, 18 * kMs, 20 * kMs, {on(OperationKind::barrier)});
    run.path(kInit);
  }
  return run;
}

std::uint64_t waited(const TimeMapRow& row, WaitPattern pattern) {
  std::uint64_t sum = 0;
  for (const WaitInBin& each : row.waits) sum += each.pattern == pattern ? each.ns : 0;
  return sum;
}

}  // namespace

TEST_CASE("a time map shows when who waited and where each rank was, for any number of analysts") {
  for (const int analysts : {1, 3}) {
    const TimeMap map = time_map_of(one_late(), analysts);
    CHECK(map.begin_ns == 0);
    CHECK(map.bins == kMostBins);
    CHECK(map.bin_ns == 20 * kMs / kMostBins);
    REQUIRE(map.rows.size() == 3);
    const auto bin_at = [&](std::uint64_t ns) { return static_cast<std::uint32_t>(ns / map.bin_ns); };
    for (const TimeMapRow& row : map.rows) {
      CHECK(row.contexts[bin_at(1 * kMs)] == kInit);
      CHECK(row.contexts[bin_at(3 * kMs)] == kWork);
      CHECK(row.contexts[bin_at(8 * kMs)] == (row.rank == 2 ? kWork : kBarrier));
      CHECK(row.calls_ns[bin_at(3 * kMs)] == 0);
      for (const WaitInBin& wait : row.waits) CHECK(wait.ns <= map.bin_ns);
    }
    const auto& waits = map.rows[0].waits;
    REQUIRE_FALSE(waits.empty());
    CHECK(waits.front().pattern == WaitPattern::wait_at_barrier);
    CHECK(waits.front().bin == bin_at(4 * kMs));
  }
}

TEST_CASE("nothing is lost in a time map: its bins add up to the calls and to the waits") {
  const ScriptedRun run = one_late();
  const TimeMap map = time_map_of(run, 2);
  const Found found = analyse(run);
  for (const TimeMapRow& row : map.rows) {
    const std::uint64_t calls = std::accumulate(row.calls_ns.begin(), row.calls_ns.end(), std::uint64_t{0});
    CHECK(calls == (row.rank == 2 ? 6 : 14) * kMs);
    std::uint64_t exact = 0;
    for (const FoundWait& wait : found.waits)
      exact += wait.rank == row.rank && wait.pattern == WaitPattern::wait_at_barrier ? wait.ns : 0;
    CHECK(waited(row, WaitPattern::wait_at_barrier) == exact);
  }
  CHECK(waited(map.rows[0], WaitPattern::wait_at_barrier) == 8 * kMs);
  CHECK(waited(map.rows[2], WaitPattern::wait_at_barrier) == 0);
}

TEST_CASE(
    "a time map shows what threads waited for each other, and how much of the time outside MPI it was") {
  ScriptedRun run(2);
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    run.call(rank, 0, 2 * kMs, {on(OperationKind::initialize)});
    if (rank == 0) run.thread_wait(rank, kMs, 5 * kMs);
    if (rank == 0) run.thread_wait(rank, 6 * kMs, 7 * kMs, culprit::measurement::WaitKind::lock);
    run.call(rank, 12 * kMs, 14 * kMs, {on(OperationKind::finalize)});
    if (rank == 0) run.thread_wait(rank, 15 * kMs, 16 * kMs);
    run.call(rank, 18 * kMs, 20 * kMs, {on(OperationKind::none)});
  }
  const TimeMap map = time_map_of(run, 2);
  REQUIRE(map.rows.size() == 2);
  CHECK(waited(map.rows[0], WaitPattern::omp_barrier) == 4 * kMs);
  CHECK(waited(map.rows[0], WaitPattern::lock_held) == kMs);
  CHECK(map.rows[0].outside_ns == 10 * kMs);
  CHECK(map.rows[0].thread_waits_ns == 4 * kMs);
  CHECK(map.rows[1].thread_waits_ns == 0);
}

TEST_CASE("a rank that computes between short calls, most of it unsampled, is shown in its code") {
  constexpr std::uint64_t kUs = 1000, kEach = 100 * kUs;  // a call of 20 µs every 100 µs, a sample every 5 ms
  ScriptedRun run(1);
  for (std::uint64_t call = 0; call < 1000; ++call) {
    const std::uint64_t enter = call * kEach;
    // None from 40 to 80 ms: there nothing is known of the code.
    if (call % 50 == 49 && (call < 400 || call > 800)) run.sample(0, enter - 1, 5 * kMs, kWork);
    run.call(0, enter, enter + 20 * kUs, {});
    run.path(kBarrier);
  }
  const TimeMap map = time_map_of(run, 1);
  const TimeMapRow& row = map.rows.at(0);
  const auto context_at = [&](std::uint64_t ns) { return row.contexts[ns / map.bin_ns]; };
  CHECK(context_at(1 * kMs) == kWork);
  CHECK(context_at(30 * kMs) == kWork);
  CHECK(context_at(45 * kMs) == ~std::uint32_t{0});
  CHECK(context_at(79 * kMs) == kWork);
  CHECK(row.calls_ns[30 * kMs / map.bin_ns] > 0);
}

TEST_CASE("a run without calls has no time map") {
  const TimeMap map = time_map_of(ScriptedRun(2), 1);
  CHECK(map.bins == 0);
  CHECK(map.rows.empty());
}

TEST_CASE("bins name the segments of their rank that they overlap") {
  TimeMap map = time_map_of(one_late(), 1);
  const auto bin_at = [&](std::uint64_t ns) { return static_cast<std::uint32_t>(ns / map.bin_ns); };
  const Segment first{.begin_ns = 3 * kMs, .end_ns = 6 * kMs}, second{.begin_ns = 6 * kMs, .end_ns = 9 * kMs};
  const Segment third{.begin_ns = 9 * kMs + map.bin_ns / 4, .end_ns = 9 * kMs + map.bin_ns / 2};
  Variation variation;
  variation.ranks = {1};
  variation.rows = {{first, second, third}};
  find_segments(map, variation);
  const auto& found = map.rows[1].segments;
  CHECK(found[bin_at(2 * kMs)].count == 0);
  CHECK(found[bin_at(3 * kMs)].first == 0);
  CHECK(found[bin_at(3 * kMs)].count == 1);
  CHECK(found[bin_at(6 * kMs)].first == 1);
  CHECK(found[bin_at(9 * kMs)].first == 2);
  CHECK(found[bin_at(9 * kMs)].count == 1);
  CHECK(found[bin_at(9 * kMs) + 1].count == 0);
  for (const SegmentsInBin& each : map.rows[0].segments) CHECK(each.count == 0);
}

namespace {

struct Call {
  std::uint32_t context = 0;
  std::uint64_t enter_ns = 0, exit_ns = 0;
};

/// Some shorter than a bin, or of no length; some as long as several.
std::vector<Call> random_calls(std::mt19937_64& random) {
  std::vector<Call> calls(1 + random() % 200);
  std::uint64_t now = random() % 10'000;
  for (Call& call : calls) {
    call.context = static_cast<std::uint32_t>(random() % 5);
    call.enter_ns = now + random() % 30;
    now = call.exit_ns = call.enter_ns + random() % (random() % 16 == 0 ? 1000 : 40);
  }
  return calls;
}

/// What a rank's calls took in one bin, by context.
std::map<std::uint32_t, std::uint64_t> spent_in(const TimeMap& map, std::uint32_t bin,
                                                const std::vector<Call>& calls) {
  const std::uint64_t begin = map.begin_ns + bin * map.bin_ns;
  std::map<std::uint32_t, std::uint64_t> spent;
  for (const Call& call : calls) {
    const std::uint64_t since = std::max(call.enter_ns, begin);
    const std::uint64_t until = std::min(call.exit_ns, begin + map.bin_ns);
    if (since < until) spent[call.context] += until - since;
  }
  return spent;
}

}  // namespace

TEST_CASE("a bin holds what each rank's calls took in it, and the call path that had most of it") {
  REQUIRE(rc::check("as if each bin were filled by itself", [] {
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
    const int ranks = *rc::gen::inRange(1, 4);
    ScriptedRun run(ranks);
    std::vector<std::vector<Call>> lines;
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      for (const Call& call : lines.emplace_back(random_calls(random))) {
        run.call(rank, call.enter_ns, call.exit_ns, {});
        run.path(call.context);
      }
    }
    const TimeMap map = time_map_of(run, *rc::gen::inRange(1, 4));
    for (const TimeMapRow& row : map.rows) {
      const std::vector<Call>& calls = lines[static_cast<std::size_t>(row.rank)];
      std::uint64_t in_calls = 0;
      for (std::uint32_t bin = 0; bin < map.bins; ++bin) {
        std::uint64_t sum = 0;
        auto most = std::pair(~std::uint32_t{0}, std::uint64_t{0});
        for (const auto& [context, ns] : spent_in(map, bin, calls)) {
          sum += ns;
          if (ns > most.second) most = {context, ns};
        }
        RC_ASSERT(row.calls_ns[bin] == sum);
        RC_ASSERT(row.contexts[bin] == most.first);
        in_calls += sum;
      }
      const std::uint64_t whole = calls.back().exit_ns - calls.front().enter_ns;
      RC_ASSERT(row.outside_ns == whole - in_calls);
      RC_ASSERT(row.left_first_ns == calls.front().exit_ns);
      RC_ASSERT(row.left_last_ns == calls.back().exit_ns);
    }
  }));
}

}  // namespace time_map_test
