#include "waits/timeline/own_times.hpp"

#include "scripted_run.hpp"

#include <catch2/catch.hpp>

namespace own_times_test {

using namespace culprit::waits;
using namespace culprit::waits::testing;

namespace {

constexpr std::uint32_t kInit = 1, kBarrier = 2, kFinalize = 3, kWork = 20, kRest = 21;

std::uint64_t time_of(const std::vector<OwnTime>& times, std::uint32_t context) {
  std::uint64_t sum = 0;
  for (const OwnTime& time : times) sum += time.path.context == context ? time.ns : 0;
  return sum;
}

}  // namespace

TEST_CASE("own times are calls without their waits, and gaps divided by their samples") {
  ScriptedRun run(2);
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    run.call(rank, 0, 100, {on(OperationKind::initialize)});
    run.path(kInit);
    // Rank 1 enters 200 ns later, of which rank 0 waits; both leave 10 ns after that. Three quarters of the
    // gap of rank 1 were sampled in work; in that of rank 0 nothing was.
    if (rank == 1) {
      run.sample(1, 400, 100, kWork);
      run.sample(1, 499, 399, kRest);
    }
    run.call(rank, rank == 0 ? 300 : 500, 510, {on(OperationKind::barrier)});
    run.path(kBarrier);
    run.call(rank, 510, 600, {on(OperationKind::finalize)});
    run.path(kFinalize);
  }
  const std::vector<OwnTime> times = own_times_of(run);
  CHECK(time_of(times, kBarrier) == 10 + 10);
  CHECK(time_of(times, kWork) == 300);
  CHECK(time_of(times, kRest) == 100);
  CHECK(time_of(times, PathOfRegion::kBetween) == 200);
}

TEST_CASE("a sample that was due in the call before its gap, too, counts for the gap once") {
  ScriptedRun run(1);
  run.sample(0, 10, 0, kRest);
  run.call(0, 50, 1000, {on(OperationKind::initialize)});
  run.path(kInit);
  // One sample in 10 ns: the first was due since 105.
  run.sample(0, 1005, 105, kRest);
  for (std::uint64_t at = 1015; at < 1100; at += 10) run.sample(0, at, at - 10, kWork);
  run.call(0, 1100, 1110, {on(OperationKind::finalize)});
  run.path(kFinalize);
  const std::vector<OwnTime> times = own_times_of(run);
  CHECK(time_of(times, kRest) == 100 * 15 / 105);
  CHECK(time_of(times, kRest) + time_of(times, kWork) == 100);
}

TEST_CASE("a gap that was never sampled is named by the calls around it") {
  ScriptedRun run(1);
  run.call(0, 0, 100, {on(OperationKind::initialize)});
  run.path(kInit);
  run.call(0, 300, 310, {on(OperationKind::barrier)});
  run.path(kBarrier);
  run.call(0, 310, 400, {on(OperationKind::finalize)});
  run.path(kFinalize);
  const std::vector<OwnTime> times = own_times_of(run);
  REQUIRE(time_of(times, PathOfRegion::kBetween) == 200);
  for (const OwnTime& time : times) {
    if (time.path.context == PathOfRegion::kBetween) CHECK(time.path.region == Region{kInit, kBarrier});
  }
}

}  // namespace own_times_test
