#include "waits/variation/variation.hpp"

#include "scripted_run.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <tuple>
#include <utility>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace variation_test {

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
/// `waits`: of each work its thread waits the last 40 ns for other threads, of the long one 340, and the
/// record says that the wait began within the call before.
ScriptedRun iterations(bool waits = false) {
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
      if (waits) {
        run.thread_wait(rank, now + 5, now + 20);
        run.thread_wait(rank, now + work - 20 - (work == 400 ? 300 : 0), now + 10 + work,
                        culprit::measurement::WaitKind::join);
      }
      run.call(rank, now + 10 + work, now + 20 + work, {on(OperationKind::barrier)});
      run.path(kReduce);
      now += 20 + work;
    }
  }
  return run;
}

}  // namespace

TEST_CASE("segments follow each other in time, also where calls overlap") {
  ScriptedRun run(1);
  run.call(0, 0, 10, {on(OperationKind::barrier)});
  run.path(kInit);
  // A loop of polls lasts until after the calls that were made meanwhile: entered first, left last.
  for (const std::uint64_t at : {100, 400, 700, 1000}) {
    run.call(0, at + 50, at + 60, {on(OperationKind::barrier)});
    run.path(kBarrier);
    run.call(0, at + 90, at + 100, {on(OperationKind::barrier)});
    run.path(kReduce);
    run.call(0, at - (at == 400 ? 350 : 50), at + 110, {on(OperationKind::barrier)});
    run.path(kBarrier);
  }
  const auto ascending = [](const Variation& found) {
    REQUIRE(found.rows.size() == 1);
    REQUIRE(found.rows[0].size() > 2);
    std::uint64_t before = 0;
    for (const Segment& segment : found.rows[0]) {
      CHECK(segment.begin_ns >= before);
      CHECK(segment.end_ns >= segment.begin_ns);
      CHECK(segment.sos_ns <= segment.end_ns - segment.begin_ns);
      before = segment.begin_ns;
    }
  };
  ascending(vary(run, paths(), {}, 1, {.procedure = kSolve}));
  ascending(vary(run, paths(),
                 {{{.ns = 300, .number = 0}, {.ns = 100, .number = 1}, {.ns = 500, .number = 2}}}, 1));
}

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

TEST_CASE("SOS-times leave out what the thread waited for others of its process") {
  std::vector<std::vector<IterationMark>> marks(2);
  for (auto& line : marks) line = {{20, 0}, {140, 1}, {260, 2}};
  for (const int analysts : {1, 2}) {
    const Variation found = vary(iterations(true), paths(), {}, analysts);
    CHECK(found.rows[0][2].sos_ns == 60);
    CHECK(found.rows[1][3].sos_ns == 60);
    CHECK(found.outliers.empty());
    const Variation marked = vary(iterations(true), paths(), marks, analysts);
    CHECK(marked.rows[0][0].sos_ns == 60);
    CHECK(marked.rows[0][1].sos_ns == 60);
  }
}

TEST_CASE("invocations with stamps need no calls, and those within another of the same procedure are one") {
  // Three in each iteration, the second within the first; on rank 1 one takes longer.
  for (const int analysts : {1, 2}) {
    ScriptedRun run(2);
    for (std::int32_t rank = 0; rank < 2; ++rank) {
      run.call(rank, 0, 10, {on(OperationKind::barrier)});
      run.path(kInit);
      std::uint64_t now = 20;
      for (int i = 0; i < 6; ++i) {
        const std::uint64_t more = rank == 1 && i == 3 ? 300 : 0;
        run.region(rank, now + 10, now + 20, kWork);
        run.sample(rank, now + 40, now, kWork);
        run.region(rank, now, now + 40, kWork);
        run.thread_wait(rank, now + 60, now + 65);
        run.region(rank, now + 50, now + 90 + more, kWork);
        run.sample(rank, now + 95 + more, now + 40, 3);
        now += 100 + more;
        run.call(rank, now, now + 10, {on(OperationKind::barrier)});
        run.path(kReduce);
        now += 20;
      }
    }
    const Variation found = vary(run, paths(), {}, analysts, {.procedure = kWorkProcedure});
    CHECK(found.stamped);
    REQUIRE(found.rows.size() == 2);
    REQUIRE(found.rows[1].size() == 12);
    CHECK(found.rows[0][0].sos_ns == 40);
    CHECK(found.rows[0][1].sos_ns == 35);
    CHECK(found.rows[0][1].begin_ns == 70);
    CHECK(found.median_ns == 40);
    REQUIRE(found.outliers.size() == 1);
    CHECK(found.outliers[0].rank == 1);
    CHECK(found.outliers[0].segment == 7);
    CHECK(found.outliers[0].sos_ns == 335);
    CHECK(found.outliers[0].location == 1);     // the main thread of rank 1
    CHECK(found.outliers[0].context == kWork);  // though more was sampled around it
  }
}

TEST_CASE("what was waited for threads within a series of polls is the polls' time") {
  ScriptedRun run(1);
  run.call(0, 0, 10, {on(OperationKind::barrier)});
  run.path(kInit);
  for (const std::uint64_t at : {100, 400, 700}) {
    run.thread_wait(0, at + 20, at + 50);
    run.call(0, at + 60, at + 70, {on(OperationKind::barrier)});
    run.path(kReduce);
    run.thread_wait(0, at + 75, at + 95);
    run.call(0, at + 30, at + 110, {on(OperationKind::barrier)});
    run.path(kBarrier);
  }
  const Variation found = vary(run, paths(), {{{.ns = 90, .number = 0}, {.ns = 390, .number = 1}}}, 1);
  REQUIRE(found.rows[0].size() == 2);
  CHECK(found.rows[0][0].sos_ns == 300 - 10 - 80 - 10);  // calls that overlap count one by one
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

TEST_CASE("a region is as long as the longest of OpenMP's threads worked in it") {
  ScriptedRun run(1, 3);
  run.call(0, 0, 10, {on(OperationKind::barrier)});
  run.path(kInit);
  constexpr std::uint32_t kWaiting = 7;  // in work
  CallPaths own = paths();
  own.parent.push_back(kWork);
  own.procedure.push_back(CallPaths::kNone);
  // Thread 2 waits for what comes from outside: it is none of the team.
  run.thread_wait(0, 5, 1995, culprit::measurement::WaitKind::condition, {}, 2);
  for (std::uint64_t i = 0; i < 6; ++i) {
    const std::uint64_t now = 20 + 300 * i, more = i == 4 ? 100 : 0;
    run.sample(0, now + 50, now + 40, kWork);
    run.sample(0, now + 60 + more, now + 10, kWaiting, 0, culprit::measurement::WaitKind::omp_barrier);
    run.thread_wait(0, now + 50, now + 60 + more);  // the main thread, for the worker
    run.region(0, now, now + 60 + more, kWork);
    run.sample(0, now + 60 + more, now, kWork, 1);
    // The worker's next region ends its wait; of the last one nobody knows.
    if (i < 5)
      run.thread_wait(0, now + 60 + more, now + 300, culprit::measurement::WaitKind::omp_idle, {}, 1);
  }
  run.call(0, 2000, 2010, {on(OperationKind::barrier)});
  run.path(kReduce);
  const Variation found = vary(run, own, {}, 1, {.procedure = kWorkProcedure});
  REQUIRE(found.rows[0].size() == 6);
  CHECK(found.rows[0][5].context == kWork);  // though most was sampled at the barrier
  CHECK(found.rows[0][0].sos_ns == 60);
  CHECK(found.rows[0][4].sos_ns == 160);
  CHECK(found.rows[0][5].sos_ns == 50);
  REQUIRE(found.outliers.size() == 1);
  CHECK(found.outliers[0].segment == 4);
  CHECK(found.outliers[0].context == kWork);
  CHECK(found.outliers[0].location == 1);  // the worker
  CHECK(found.rows[0][5].location == 0);
}

TEST_CASE("an iteration ends at the latest where the region ends that was open when it began") {
  ScriptedRun run(1);
  run.call(0, 0, 10, {on(OperationKind::barrier)});
  run.path(kInit);
  run.region(0, 50, 70, kWork);  // within an iteration
  run.region(0, 15, 220, kWork);
  run.region(0, 295, 420, kWork);
  run.call(0, 600, 610, {on(OperationKind::barrier)});
  run.path(kReduce);
  const std::vector<IterationMark> marks = {{20, 0}, {120, 1}, {300, 0}, {400, 1}};
  const Variation found = vary(run, paths(), {marks}, 1);
  REQUIRE(found.rows[0].size() == 4);
  CHECK(found.rows[0][0].end_ns == 120);
  CHECK(found.rows[0][1].end_ns == 220);
  CHECK(found.rows[0][1].sos_ns == 100);
  CHECK(found.rows[0][2].end_ns == 400);
  CHECK(found.rows[0][3].end_ns == 420);
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

namespace {

constexpr std::uint32_t kNone = CallPaths::kNone;
constexpr std::uint32_t kContexts = 20;

struct Call {
  std::uint32_t context = 0;
  std::uint64_t enter_ns = 0, exit_ns = 0;
};

/// Any scope may be a frame of one of three procedures, and call.
CallPaths random_paths(std::mt19937_64& random) {
  CallPaths paths{.parent = {kNone}, .procedure = {kMain}};
  for (std::uint32_t context = 1; context < kContexts; ++context) {
    paths.parent.push_back(context - 1 - static_cast<std::uint32_t>(random() % std::min(context, 3U)));
    const auto procedure = kMain + static_cast<std::uint32_t>(random() % 3);
    paths.procedure.push_back(random() % 2 == 0 ? kNone : procedure);
  }
  return paths;
}

/// A few calls over and over, some left out here and there; one may be where the paths tell nothing.
std::vector<Call> random_calls(std::mt19937_64& random) {
  std::vector<std::uint32_t> period(1 + random() % 6);
  for (std::uint32_t& context : period) context = static_cast<std::uint32_t>(random() % (kContexts + 1));
  std::vector<Call> calls;
  std::uint64_t now = random() % 100;
  for (std::uint64_t i = random() % 60; i > 0; --i) {
    if (random() % 8 == 0) continue;
    const std::uint64_t enter = now + random() % 100;
    now = enter + random() % 10;
    calls.push_back({period[i % period.size()], enter, now});
  }
  return calls;
}

/// With itself, from the inside.
std::vector<std::uint32_t> around(const CallPaths& paths, std::uint32_t context) {
  std::vector<std::uint32_t> scopes;
  for (; context != kNone; context = paths.parent[context]) scopes.push_back(context);
  return scopes;
}

/// A call of one path.
struct Recurrence {
  std::size_t call = 0;
  std::size_t depth = 0;  // of the outermost scope that control came back to since the last one
};

/// The calls of a path, as they are defined.
std::vector<Recurrence> recurrences(const CallPaths& paths, std::uint32_t path,
                                    const std::vector<Call>& calls) {
  std::vector<Recurrence> found;
  std::set<std::uint32_t> came_back;
  std::uint32_t previous = kNone;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::uint32_t context = calls[i].context;
    if (context >= kContexts) continue;
    const std::vector<std::uint32_t> scopes = around(paths, context);
    if (previous != kNone) {
      std::vector<std::uint32_t> others = around(paths, previous);
      if (previous == context) others.erase(others.begin());
      const auto both = std::find_first_of(scopes.begin(), scopes.end(), others.begin(), others.end());
      if (both != scopes.end()) came_back.insert(*both);
    }
    previous = context;
    if (context != path) continue;
    const auto outermost = std::find_if(scopes.rbegin(), scopes.rend() - 1,
                                        [&](std::uint32_t scope) { return came_back.contains(scope); });
    found.push_back({i, static_cast<std::size_t>(outermost - scopes.rbegin())});
    came_back.clear();
  }
  return found;
}

/// Those that begin anew at the scope at `depth`; the first of all does.
std::vector<std::size_t> begun(const std::vector<Recurrence>& all, std::size_t depth) {
  std::vector<std::size_t> calls;
  for (const Recurrence& one : all)
    if (calls.empty() || one.depth <= depth) calls.push_back(one.call);
  return calls;
}

/// Of each procedure of a line the path of its first call, in the order of the calls.
std::vector<std::pair<std::uint32_t, std::uint32_t>> first_paths(const CallPaths& paths,
                                                                 const std::vector<Call>& calls) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
  for (const Call& call : calls) {
    if (call.context >= kContexts) continue;
    for (const std::uint32_t scope : around(paths, call.context)) {
      const std::uint32_t procedure = paths.procedure[scope];
      const bool known = procedure == kNone ||
                         std::ranges::any_of(found, [&](const auto& one) { return one.first == procedure; });
      if (!known) found.emplace_back(procedure, call.context);
    }
  }
  return found;
}

using Times = std::array<std::uint64_t, 3>;  // begin, end, without calls

/// Segments that begin with these calls.
std::vector<Times> segments_from(const std::vector<std::size_t>& begins, const std::vector<Call>& calls,
                                 std::size_t end) {
  std::vector<Times> segments;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const bool last = i + 1 == begins.size();
    const std::size_t until = last ? end : begins[i + 1];
    const std::uint64_t begin_ns = calls[begins[i]].enter_ns;
    const std::uint64_t end_ns = last ? calls[end - 1].exit_ns : calls[until].enter_ns;
    std::uint64_t sos_ns = end_ns - begin_ns;
    for (std::size_t call = begins[i]; call < until; ++call)
      sos_ns -= calls[call].exit_ns - calls[call].enter_ns;
    segments.push_back({begin_ns, end_ns, sos_ns});
  }
  return segments;
}

/// Whether there are several, and none has more than three quarters of the time.
bool divides(const std::vector<Times>& segments) {
  std::uint64_t longest = 0;
  for (const Times& one : segments) longest = std::max(longest, one[1] - one[0]);
  return segments.size() >= 2 && 4 * longest <= 3 * (segments.back()[1] - segments.front()[0]);
}

/// A line's segments, as they are defined.
std::vector<Times> divided(const CallPaths& paths, std::uint32_t procedure, const std::vector<Call>& calls) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].context >= kContexts) continue;
    for (const std::uint32_t scope : around(paths, calls[i].context))
      if (paths.procedure[scope] == procedure) end = i + 1;
  }
  const auto firsts = first_paths(paths, calls);
  const auto own = std::ranges::find_if(firsts, [&](const auto& one) { return one.first == procedure; });
  if (own == firsts.end()) return {};
  const std::vector<std::uint32_t> scopes = around(paths, own->second);
  const auto frame = std::find_if(scopes.rbegin(), scopes.rend(),
                                  [&](std::uint32_t scope) { return paths.procedure[scope] == procedure; });
  const std::vector<Recurrence> all = recurrences(paths, own->second, calls);
  std::vector<std::size_t> begins;
  std::size_t depth = static_cast<std::size_t>(frame - scopes.rbegin());
  for (;; ++depth) {
    begins = begun(all, depth);
    const std::vector<Times> segments = segments_from(begins, calls, end);
    if (divides(segments)) break;
    if (depth + 1 >= scopes.size()) return segments;
  }
  const std::uint32_t scope = scopes[scopes.size() - 1 - depth];
  const std::size_t of_first = begins.size();
  for (const auto& [other, path] : firsts) {
    const std::vector<std::uint32_t> others = around(paths, path);
    if (std::ranges::find(others, scope) == others.end()) continue;
    std::vector<std::size_t> more = begun(recurrences(paths, path, calls), depth);
    if (more.size() > begins.size() && more.size() < 2 * of_first) begins = std::move(more);
  }
  return segments_from(begins, calls, end);
}

}  // namespace

namespace {

/// By rank and line, with samples between calls.
ScriptedRun random_run(std::mt19937_64& random, int ranks, std::vector<std::vector<Call>>& lines) {
  ScriptedRun run(ranks);
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    std::uint64_t left = 0;
    for (const Call& call : lines.emplace_back(random_calls(random))) {
      if (left != 0 && call.enter_ns > left + 1 && random() % 4 == 0)
        run.sample(rank, call.enter_ns - 1, left, static_cast<std::uint32_t>(random() % kContexts));
      run.call(rank, call.enter_ns, call.exit_ns, {});
      run.path(call.context);
      left = call.exit_ns;
    }
  }
  return run;
}

using Place = std::pair<std::int32_t, std::uint32_t>;  // rank, segment

std::set<Place> places(const Variation& found) {
  std::set<Place> all;
  for (const Outlier& one : found.outliers) all.emplace(one.rank, one.segment);
  return all;
}

}  // namespace

TEST_CASE(
    "a procedure is divided where the outermost scope recurs that divides its time, whatever is called") {
  REQUIRE(rc::check("as it is defined", [] {
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
    const CallPaths paths = random_paths(random);
    const int ranks = *rc::gen::inRange(1, 4);
    std::vector<std::vector<Call>> lines;
    const ScriptedRun run = random_run(random, ranks, lines);
    const std::uint32_t procedure = kMain + *rc::gen::inRange(0U, 3U);
    const Variation found = vary(run, paths, {}, *rc::gen::inRange(1, 4), {.procedure = procedure});
    RC_ASSERT(found.rows.size() == static_cast<std::size_t>(ranks));
    for (std::size_t rank = 0; rank < lines.size(); ++rank) {
      std::vector<Times> segments;
      for (const Segment& one : found.rows[rank]) segments.push_back({one.begin_ns, one.end_ns, one.sos_ns});
      RC_ASSERT(segments == divided(paths, procedure, lines[rank]));
    }
  }));
}

TEST_CASE("what was found of another procedure before changes nothing") {
  REQUIRE(rc::check("as if nothing was", [] {
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
    const CallPaths paths = random_paths(random);
    std::vector<std::vector<Call>> lines;
    const ScriptedRun run = random_run(random, *rc::gen::inRange(1, 4), lines);
    const int analysts = *rc::gen::inRange(1, 4);
    const VariationOptions options{.procedure = kMain + *rc::gen::inRange(0U, 3U)};
    const Variation alone = vary(run, paths, {}, analysts, options);
    const Variation found = vary(run, paths, {}, analysts, options, kMain + *rc::gen::inRange(0U, 3U));
    RC_ASSERT(found.median_ns == alone.median_ns);
    RC_ASSERT(places(found) == places(alone));
    for (std::size_t rank = 0; rank < lines.size(); ++rank) {
      const auto same = [](const Segment& a, const Segment& b) {
        return std::tie(a.begin_ns, a.end_ns, a.sos_ns, a.context) ==
               std::tie(b.begin_ns, b.end_ns, b.sos_ns, b.context);
      };
      RC_ASSERT(std::equal(found.rows[rank].begin(), found.rows[rank].end(), alone.rows[rank].begin(),
                           alone.rows[rank].end(), same));
    }
  }));
}

}  // namespace variation_test
