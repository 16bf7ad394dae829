#include "waits/variation/segment_values.hpp"

#include "scripted_run.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace segment_values_test {

using namespace culprit::waits;
using namespace culprit::waits::testing;

namespace {

// root 0 → main 1 → MPI 2
CallPaths paths() {
  const std::uint32_t none = CallPaths::kNone;
  return {.parent = {none, 0, 1}, .procedure = {none, 100, none}};
}

void call(ScriptedRun& run, std::int32_t rank, std::uint64_t enter, std::uint64_t exit) {
  run.call(rank, enter, exit, {on(OperationKind::barrier)});
  run.path(2);
}

}  // namespace

TEST_CASE("what was counted falls on segments evenly since the reading before, MPI calls left out") {
  ScriptedRun run(2);
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    call(run, rank, 0, 10);
    run.reading(rank, 100, 0, 999);  // before the first iteration
    run.reading(rank, 150, 0, 50);
    call(run, rank, 160, 180);
    run.reading(rank, 200, 0, 50);  // 20 of 50 ns in the call
    run.reading(rank, 260, 0, 600);
    run.reading(rank, 260, 0, 8);  // at the same time: counted with the next
    run.reading(rank, 280, 1, rank == 0 ? 0 : 27);
    run.reading(rank, 290, 9, 1'000'000);  // of an event that nobody asked for
    run.reading(rank, 340, 0, 80);
    call(run, rank, 350, 360);
    run.reading(rank, 380, 0, 70);  // behind the last segment, but for its call
  }
  const std::vector<IterationMark> marks = {{100, 0}, {200, 1}, {300, 2}};
  for (const int analysts : {1, 2}) {
    const SegmentValues found = segment_values_of(run, paths(), {marks, marks}, analysts, 2);
    REQUIRE(found.size() == 2);
    CHECK(found[0][0].values == std::vector<std::uint64_t>{80, 644, 44 + 18});
    CHECK(found[0][1].values == std::vector<std::uint64_t>{0, 0, 0});
    // Since the program began: 260 ns outside calls, of which 80 in the first iteration, 80 in the second.
    CHECK(found[1][1].values == std::vector<std::uint64_t>{8, 8, 0});
  }
}

TEST_CASE("what was counted is reported where it was read, but not what was counted before a call") {
  ScriptedRun run(1);
  const auto read = [&run](std::uint64_t at, std::uint64_t value, std::uint32_t context) {
    run.reading(0, at, 0, value);
    run.processes[0].threads[0].back().node = context;
  };
  call(run, 0, 0, 10);
  read(100, 5, 7);
  read(130, 20, 5);  // in the first iteration: 20 here,
  read(150, 30, 6);  // 30 here,
  call(run, 0, 150, 180);
  read(200, 400, 7);  // and 400 behind the call
  call(run, 0, 220, 250);
  read(260, 60, 8);  // of which 10 behind the call
  read(300, 0, 9);
  call(run, 0, 310, 320);
  read(340, 90, 4);
  call(run, 0, 400, 410);
  const SegmentValues found =
      segment_values_of(run, paths(), {{{100, 0}, {160, 1}, {205, 2}, {300, 3}}}, 1, 1);
  CHECK(found[0][0].contexts == std::vector<std::uint32_t>{6, 7, 8, 4});
}

TEST_CASE("invocations that are inferred get what was counted between their calls") {
  ScriptedRun run(1);
  call(run, 0, 0, 10);
  for (std::uint64_t i = 0; i < 5; ++i) {
    const std::uint64_t at = 100 * (i + 1);
    call(run, 0, at, at + 20);
    run.reading(0, at + 20, 0, 0);
    run.reading(0, at + 80, 0, i == 3 ? 4000 : 10);
    run.reading(0, at + 99, 0, 0);
  }
  CallPaths inferred = paths();
  inferred.parent.push_back(0);
  inferred.procedure.push_back(CallPaths::kNone);
  run.processes[0].threads[0][0].node = 3;  // MPI_Init recurs nowhere
  // The last one ends with the last call.
  const SegmentValues found = segment_values_of(run, inferred, {}, 1, 1);
  CHECK(found[0][0].values == std::vector<std::uint64_t>{10, 10, 10, 4000, 0});
}

TEST_CASE("segments without calls that follow each other have all that was counted in them") {
  const bool holds = rc::check([] {
    const auto steps =
        *rc::gen::nonEmpty(rc::gen::container<std::vector<std::pair<std::uint8_t, std::uint8_t>>>(
            rc::gen::arbitrary<std::pair<std::uint8_t, std::uint8_t>>()));
    const auto lengths = *rc::gen::nonEmpty(
        rc::gen::container<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(1, 500)));
    ScriptedRun run(1);
    call(run, 0, 0, 10);
    std::uint64_t now = 10, total = 0;
    run.reading(0, now, 0, 12345);
    for (const auto& [wait, value] : steps) {
      now += wait;
      run.reading(0, now, 0, value);
      total += value;
    }
    run.reading(0, ++now, 0, 0);
    std::vector<IterationMark> marks;
    std::uint64_t mark = 10;
    for (const std::uint64_t length : lengths) {
      marks.push_back({mark, marks.size()});
      mark += length;
    }
    call(run, 0, std::max(now, mark) + 1, std::max(now, mark) + 2);
    const SegmentValues found = segment_values_of(run, paths(), {marks}, 1, 1);
    std::uint64_t sum = 0;
    for (const std::uint64_t value : found[0][0].values) sum += value;
    const std::uint64_t most = marks.size() / 2 + 1;  // of rounding
    RC_ASSERT(sum + most >= total);
    RC_ASSERT(sum <= total + most);
  });
  REQUIRE(holds);
}

}  // namespace segment_values_test
