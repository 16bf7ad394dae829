#include "waits/variation.hpp"

#include "scripted_run.hpp"

#include <catch2/catch.hpp>

using namespace culprit::waits;
using namespace culprit::waits::testing;

namespace {

// root 0 → main 1 → { MPI_Init 2, solve 3 → { MPI_Barrier 4, MPI_Allreduce 5, work 6 } }
constexpr std::uint32_t kInit = 2, kBarrier = 4, kReduce = 5, kWork = 6;
constexpr std::uint32_t kMain = 100, kSolve = 101, kWorkProcedure = 102;

CallPaths paths() {
  const std::uint32_t none = CallPaths::kNone;
  return {.parent = {none, 0, 1, 1, 3, 3, 3},
          .procedure = {none, kMain, none, kSolve, none, none, kWorkProcedure}};
}

/// 2 ranks, 6 iterations of 100 ns of work, 10 ns in each of two collectives; rank 1 works 400 ns in
/// iteration 3.
ScriptedRun iterations() {
  ScriptedRun run(2);
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    run.call(rank, 0, 10, {on(OperationKind::barrier)});
    run.path(kInit);
    std::uint64_t now = 20;
    for (int i = 0; i < 6; ++i) {
      run.call(rank, now, now + 10, {on(OperationKind::barrier)});
      run.path(kBarrier);
      const std::uint64_t work = rank == 1 && i == 3 ? 400 : 100;
      run.sample(rank, now + 9 + work, now + 9, kWork);
      run.call(rank, now + 10 + work, now + 20 + work, {on(OperationKind::barrier)});
      run.path(kReduce);
      now += 20 + work;
    }
  }
  return run;
}

}  // namespace

TEST_CASE(
    "the dominant procedure is the heaviest that recurs, and an invocation that takes longer stands out") {
  for (const int analysts : {1, 2}) {
    const Variation found = vary(iterations(), paths(), {}, analysts);
    CHECK_FALSE(found.marked);
    CHECK(found.procedure == kSolve);
    CHECK(found.context == 3);
    REQUIRE(found.rows.size() == 2);
    REQUIRE(found.rows[0].size() == 6);
    CHECK(found.rows[0][2].sos_ns == 100);
    CHECK(found.rows[1][3].sos_ns == 400);
    CHECK(found.median_ns == 100);
    REQUIRE(found.outliers.size() == 1);
    CHECK(found.outliers[0].rank == 1);
    CHECK(found.outliers[0].segment == 3);
    CHECK(found.outliers[0].sos_ns == 400);
    CHECK(found.outliers[0].context == kWork);
  }
}

TEST_CASE("iterations that the program marks are used as they are") {
  std::vector<std::vector<IterationMark>> marks(2);
  for (std::uint64_t i = 0; i < 3; ++i) {
    marks[0].push_back({20 + 240 * i, i});
    marks[1].push_back({20 + 240 * i, i});
  }
  const Variation found = vary(iterations(), paths(), marks, 1);
  CHECK(found.marked);
  REQUIRE(found.rows[0].size() == 3);
  CHECK(found.rows[0][0].sos_ns == 200);
  CHECK(found.rows[0][1].begin_ns == 260);
}

TEST_CASE("a run in which nothing recurs has no dominant procedure") {
  ScriptedRun run(2);
  const Variation found = vary(run, paths(), {}, 2);
  CHECK(found.procedure == CallPaths::kNone);
  CHECK(found.outliers.empty());
}

namespace {

// root 0 → main 1 → { MPI_Init 2, read 7 → { MPI_Bcast 8, solve 3 → { MPI_Barrier 4, MPI_Allreduce 5, work 6
// } } }
constexpr std::uint32_t kBroadcast = 8, kRead = 103;

CallPaths reader_paths() {
  const std::uint32_t none = CallPaths::kNone;
  return {.parent = {none, 0, 1, 7, 3, 3, 3, 1, 7},
          .procedure = {none, kMain, none, kSolve, none, none, kWorkProcedure, kRead, none}};
}

/// A program that broadcasts each line of its input; the third of five makes it compute.
ScriptedRun reader() {
  ScriptedRun run(2);
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    run.call(rank, 0, 10, {on(OperationKind::barrier)});
    run.path(kInit);
    std::uint64_t now = 20;
    for (int line = 0; line < 5; ++line) {
      run.call(rank, now, now + 10, {on(OperationKind::barrier)});
      run.path(kBroadcast);
      now += 20;
      for (int i = 0; line == 2 && i < 20; ++i) {
        run.call(rank, now, now + 10, {on(OperationKind::barrier)});
        run.path(kBarrier);
        run.sample(rank, now + 110, now + 10, kWork);
        now += 120;
      }
    }
  }
  return run;
}

}  // namespace

TEST_CASE("a procedure that recurs, but of which one invocation has nearly all the time, divides nothing") {
  for (const int analysts : {1, 2}) {
    const Variation found = vary(reader(), reader_paths(), {}, analysts);
    CHECK(found.procedure == kSolve);
    REQUIRE(found.rows.size() == 2);
    CHECK(found.rows[0].size() == 20);
    CHECK(found.median_ns == 110);
  }
}

TEST_CASE("a procedure of one's choice is taken as it is") {
  const Variation found = vary(reader(), reader_paths(), {}, 2, {.procedure = kRead});
  CHECK(found.procedure == kRead);
  CHECK(found.context == 7);
  REQUIRE(found.rows.size() == 2);
  CHECK(found.rows[1].size() == 5);
  CHECK(vary(reader(), reader_paths(), {}, 2, {.procedure = 999}).procedure == CallPaths::kNone);
}

namespace {

// root 0 → main 1 → { MPI_Init 2, run 3 → loop 4 → { exchange 5 → loop 6 → { MPI_Isend 7, MPI_Wait 8 },
// MPI_Allreduce 9 } }
constexpr std::uint32_t kSend = 7, kComplete = 8, kSum = 9;
constexpr std::uint32_t kRun = 102, kExchange = 103;

CallPaths stepper_paths() {
  const std::uint32_t none = CallPaths::kNone;
  return {.parent = {none, 0, 1, 1, 3, 4, 5, 6, 6, 4},
          .procedure = {none, kMain, none, kRun, none, kExchange, none, none, none, none}};
}

/// 2 ranks, 6 steps, in each three exchanges with neighbours and 100 ns of work; then, where `reduced`, a
/// reduction.
ScriptedRun stepper(bool reduced) {
  ScriptedRun run(2);
  const auto call = [&](std::int32_t rank, std::uint64_t& now, std::uint32_t path) {
    run.call(rank, now, now + 10, {on(OperationKind::barrier)});
    run.path(path);
    now += 10;
  };
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    std::uint64_t now = 0;
    call(rank, now, kInit);
    for (int step = 0; step < 6; ++step) {
      for (int neighbour = 0; neighbour < 3; ++neighbour) {
        call(rank, now, kSend);
        call(rank, now, kComplete);
      }
      now += 100;
      if (reduced) call(rank, now, kSum);
    }
  }
  return run;
}

}  // namespace

TEST_CASE("loops deep inside do not begin invocations anew where control comes back farther out") {
  const Variation found = vary(stepper(true), stepper_paths(), {}, 2);
  CHECK(found.procedure == kRun);
  REQUIRE(found.rows.size() == 2);
  CHECK(found.rows[0].size() == 6);
  CHECK(found.median_ns == 100);
  const Variation inner = vary(stepper(true), stepper_paths(), {}, 2, {.procedure = kExchange});
  REQUIRE(inner.rows.size() == 2);
  CHECK(inner.rows[0].size() == 6);
}

TEST_CASE("where control is seen to come back to a loop deep inside alone, that recurs") {
  const Variation found = vary(stepper(false), stepper_paths(), {}, 2);
  REQUIRE(found.rows.size() == 2);
  CHECK(found.rows[0].size() == 18);
}
