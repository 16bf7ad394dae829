#include "stuck/findings.hpp"

#include "jobs.hpp"
#include "measurement/runtime_notes.hpp"
#include "stuck/words.hpp"

#include <catch2/catch.hpp>

using namespace culprit::stuck;
using namespace culprit::stuck::testing;

namespace {

using List = std::vector<std::int32_t>;
using Catch::Contains;

/// Of a job in which nothing changed between the two looks, a second apart.
Findings standing(const Picture& picture, double patience_s = 10) {
  const Picture before = a_second_before(picture);
  return find(picture, &before, {.patience_s = patience_s});
}

std::vector<ProblemKind> kinds(const Findings& findings) {
  std::vector<ProblemKind> list;
  for (const Problem& problem : findings.problems) list.push_back(problem.kind);
  return list;
}

/// The handler has seen the rank outside of calls for so long.
void computes(Picture& picture, std::int32_t rank, double seconds) {
  thread_of(picture, rank).inside = false;
  thread_of(picture, rank).since_ns = kNow - static_cast<std::uint64_t>(seconds * 1e9);
}

}  // namespace

TEST_CASE("a ring of sends is a deadlock, reported as its cycle") {
  Picture picture = job(5);
  for (std::int32_t rank = 0; rank < 3; ++rank) sends(picture, rank, (rank + 1) % 3);
  const Findings findings = standing(picture);
  REQUIRE(kinds(findings) == std::vector{ProblemKind::deadlock});
  CHECK(findings.problems[0].ranks == List{0, 1, 2});
  CHECK(findings.problems[0].text ==
        "0 -> 1 -> 2 -> 0, each in MPI_Send since 41 s: a ring of blocking sends above the eager limit (main "
        "at a.c:7)");
  CHECK(findings.verdict == "Stuck: a deadlock of ranks 0-2");
  CHECK(findings.waiting.size() == 3);
  CHECK(findings.moving.size() == 2);
}

TEST_CASE("a message that takes long is no deadlock") {
  Picture picture = job(2);
  for (const std::int32_t rank : {0, 1}) {
    receives(picture, rank, 1 - rank, 5);
    thread_of(picture, rank).all_messages = true;
  }
  CHECK(kinds(standing(picture)) == std::vector{ProblemKind::deadlock});
  thread_of(picture, 0).last = {message(CallKind::send, 1, 5)};  // MPI_Isend
  CHECK_FALSE(standing(picture).stuck());
}

TEST_CASE("who waits for the epoch or the lock of a rank that has ended") {
  Picture picture = job(3);
  picture.contexts[7] = {.kind = ContextKind::window, .members = {0, 1, 2}, .others = {}};
  picture.processes[2].life = Life::ended;
  Call& wait = in(picture, 0, CallKind::wait, "MPI_Win_wait");
  wait.context = 7;
  wait.group = {2};
  Call& lock = in(picture, 1, CallKind::lock, "MPI_Win_lock");
  lock.context = 7;
  lock.target = 2;
  const Findings findings = standing(picture);
  REQUIRE(kinds(findings) == std::vector(2, ProblemKind::no_partner));
  CHECK(findings.verdict == "Stuck: rank 0 waits for rank 2, which has ended");
  CHECK(findings.problems[0].text ==
        "rank 0 is in MPI_Win_wait (main at a.c:7) since 41 s, for MPI_Win_complete on rank 2, which has "
        "ended");
  CHECK(findings.problems[1].text ==
        "rank 1 is in MPI_Win_lock (main at a.c:7) since 41 s, for a lock on rank 2, which has ended");
  CHECK(findings.problems[1].ranks == List{1, 2});
}

TEST_CASE("who has made a call between the looks moves") {
  Picture now = job(3);
  for (std::int32_t rank = 0; rank < 3; ++rank) sends(now, rank, (rank + 1) % 3);
  const Picture before = a_second_before(now);
  ++thread_of(now, 1).number;
  const Findings findings = find(now, &before, {});
  CHECK(findings.problems.empty());
  CHECK(findings.moving.size() == 1);
  CHECK_THAT(findings.verdict, Contains("Not stuck"));
}

TEST_CASE("what a process has not written since the first look says nothing") {
  Picture picture = job(2);
  for (const std::int32_t rank : {0, 1}) receives(picture, rank, 1 - rank);
  CHECK(kinds(standing(picture)) == std::vector{ProblemKind::deadlock});
  CHECK(find(picture, &picture, {}).problems.empty());
}

TEST_CASE("who polls and computes in turn is not in its last poll") {
  Picture now = job(2);
  for (const std::int32_t rank : {0, 1}) receives(now, rank, 1 - rank);
  thread_of(now, 0).call.polls = 7;
  Picture before = a_second_before(now);
  CHECK(find(now, &before, {}).problems.empty());
  thread_of(before, 0).call.polls = 3;
  CHECK(kinds(find(now, &before, {})) == std::vector{ProblemKind::deadlock});
  now.over = true;  // one look: where its last sample was
  CHECK(find(now, nullptr, {}).problems.empty());
  thread_of(now, 0).path.push_back(
      {.name = "MPI_Test", .file = "", .line = 0, .module = "libmpi.so", .inlined = false, .mpi = true});
  CHECK(kinds(find(now, nullptr, {})) == std::vector{ProblemKind::deadlock});
}

TEST_CASE("a neighbour that has its message already waits for the next, and all for one that computes") {
  Picture picture = job(3);
  in(picture, 0, CallKind::exchange, "MPI_Sendrecv").messages = {message(CallKind::send, 1, 1),
                                                                 message(CallKind::receive, 2, 1)};
  receives(picture, 1, 0, 2);
  CHECK(kinds(standing(picture)).empty());
}

TEST_CASE("a chain that ends in a rank that computes is no deadlock") {
  Picture picture = job(4);
  for (std::int32_t rank = 1; rank < 4; ++rank) receives(picture, rank, rank - 1);
  CHECK(kinds(standing(picture)).empty());
  // Both of two neighbours wait for each other and for one that computes: either may be served already.
  Picture halo = job(3);
  for (const std::int32_t rank : {0, 1}) {
    in(halo, rank, CallKind::all_requests, "MPI_Waitall").messages = {message(CallKind::receive, 1 - rank, 0),
                                                                      message(CallKind::receive, 2, 0)};
  }
  CHECK(kinds(standing(halo)).empty());
}

TEST_CASE("waiting for oneself alone is a deadlock, unless another thread may send") {
  Picture picture = job(2);
  receives(picture, 0, 0);
  const Findings findings = standing(picture);
  REQUIRE(kinds(findings) == std::vector{ProblemKind::deadlock});
  CHECK(findings.problems[0].ranks == List{0});
  picture.processes[0].threads.push_back(thread_of(picture, 1));
  CHECK(kinds(standing(picture)).empty());
}

TEST_CASE("a rank that is missing in a collective is named with what it does instead") {
  Picture picture = job(4);
  for (const std::int32_t rank : {0, 1, 2}) collective(picture, rank, "MPI_Barrier");
  receives(picture, 3, 0, 9);
  const Findings findings = standing(picture);
  REQUIRE(kinds(findings) == std::vector{ProblemKind::deadlock, ProblemKind::missing_in_collective});
  CHECK(findings.problems[0].ranks == List{0, 3});
  CHECK(findings.problems[1].ranks == List{3});
  CHECK_THAT(findings.problems[1].text,
             Contains("ranks 0-2 are in MPI_Barrier on MPI_COMM_WORLD (main at a.c:7)") &&
                 Contains("rank 3 has not entered it: rank 3 is in MPI_Recv"));
}

TEST_CASE("a rank that went on to MPI_Finalize is missing, too") {
  Picture picture = job(3);
  for (const std::int32_t rank : {0, 1}) collective(picture, rank, "MPI_Allreduce");
  in(picture, 2, CallKind::finalize, "MPI_Finalize");
  const Findings findings = standing(picture);
  CHECK(kinds(findings) == std::vector{ProblemKind::deadlock, ProblemKind::missing_in_collective});
  CHECK(findings.problems[1].ranks == List{2});
}

TEST_CASE("another root is a mismatch, also where the others have gone on") {
  Picture picture = job(4);
  for (const std::int32_t rank : {0, 1, 3}) {
    collective(picture, rank, "MPI_Bcast", 0, true);
    collective(picture, rank, "MPI_Barrier");
  }
  collective(picture, 2, "MPI_Bcast", 1);
  const Findings findings = standing(picture);
  REQUIRE(!findings.problems.empty());
  CHECK(findings.problems[0].kind == ProblemKind::mismatch);
  CHECK(findings.problems[0].ranks == List{2});
  CHECK_THAT(findings.problems[0].text,
             Contains("ranks 0, 1, 3 MPI_Bcast with root 0, rank 2 MPI_Bcast with root 1"));
}

TEST_CASE("different collectives are a mismatch, equal ones that all entered are none") {
  Picture picture = job(3);
  for (std::int32_t rank = 0; rank < 3; ++rank) collective(picture, rank, "MPI_Alltoall");
  CHECK(kinds(standing(picture)).empty());
  collective(picture, 0, "MPI_Barrier");
  for (const std::int32_t rank : {1, 2}) collective(picture, rank, "MPI_Allreduce");
  const Findings findings = standing(picture);
  REQUIRE(kinds(findings) == std::vector{ProblemKind::mismatch});
  CHECK(findings.problems[0].ranks == List{0});
}

TEST_CASE("a receive without a sender is reported with the message that comes nearest") {
  Picture picture = job(2);
  receives(picture, 1, 0, 6);
  receives(picture, 0, 1, 3);
  for (const std::int32_t rank : {0, 1}) thread_of(picture, rank).all_messages = true;
  thread_of(picture, 0).last = {message(CallKind::send, 1, 100), message(CallKind::send, 1, 5),
                                message(CallKind::send, 1, 5)};
  thread_of(picture, 1).last = {message(CallKind::receive, 0, 5)};
  const Findings findings = standing(picture);
  REQUIRE(kinds(findings) == std::vector{ProblemKind::deadlock, ProblemKind::no_partner});
  CHECK_THAT(findings.problems[1].text, Contains("with tag 6 from rank 0; rank 0 sent one with tag 5,"));
  // What was received is no candidate; nor is anything where receives could have been for any tag.
  thread_of(picture, 1).last.push_back(message(CallKind::receive, 0, 5));
  CHECK_THAT(standing(picture).problems[1].text, Contains("rank 0 sent one with tag 100"));
  thread_of(picture, 1).last.push_back(message(CallKind::receive, kAnySource, kAnyTag));
  CHECK(kinds(standing(picture)) == std::vector{ProblemKind::deadlock});
}

TEST_CASE("a send that nobody receives is reported with what its receiver waits for") {
  Picture picture = job(2);
  sends(picture, 0, 1, 5);
  receives(picture, 1, 0, 6);
  const Findings findings = standing(picture);
  REQUIRE(kinds(findings) == std::vector{ProblemKind::deadlock, ProblemKind::no_partner});
  CHECK_THAT(findings.problems[1].text,
             Contains("to send a message with tag 5 to rank 1, which waits for one with tag 6"));
}

TEST_CASE("two threads that hold each other's mutex") {
  Picture picture = job(1);
  picture.processes[0].lock_waits = {
      {.tid = 1,
       .lock = 10,
       .owner = 2,
       .since_ns = kNow - 5'000'000'000,
       .ordinal = 0,
       .role = "main",
       .path = {}},
      {.tid = 2,
       .lock = 20,
       .owner = 1,
       .since_ns = kNow - 5'000'000'000,
       .ordinal = 1,
       .role = "work",
       .path = {}},
      {.tid = 3, .lock = 20, .owner = 1, .since_ns = 0, .ordinal = 2, .role = "work", .path = {}}};
  const Findings findings = standing(picture);
  REQUIRE(kinds(findings) == std::vector{ProblemKind::thread_deadlock});
  CHECK(findings.problems[0].ranks == List{0});
  CHECK_THAT(findings.problems[0].text,
             Contains("thread 0 (main) waits since 5 s for a mutex that thread 1 (work) holds"));
  Picture before = a_second_before(picture);
  before.processes[0].lock_waits[1].number = 77;  // another wait
  CHECK(find(picture, &before, {}).problems.empty());
  picture.processes[0].lock_waits[1].owner = 4;  // one that computes
  CHECK(kinds(standing(picture)).empty());
}

TEST_CASE("one rank that computes while all wait is reported after some patience") {
  Picture picture = job(3);
  for (const std::int32_t rank : {0, 1}) collective(picture, rank, "MPI_Allreduce");
  computes(picture, 2, 40);
  const Findings findings = standing(picture, 30);
  REQUIRE(kinds(findings) == std::vector{ProblemKind::not_moving});
  CHECK(findings.problems[0].ranks == List{2});
  CHECK_THAT(findings.problems[0].text,
             Contains("rank 2 has made no MPI call for 40 s and is in main at a.c:7; "
                      "ranks 0, 1 wait for it"));
  CHECK(kinds(standing(picture, 60)).empty());
  CHECK_THAT(findings.problems[0].text, Contains("it: a loop without end, or long work that only it has"));
  computes(picture, 2, 1);
  CHECK(kinds(standing(picture, 30)).empty());
}

TEST_CASE("what keeps a rank that makes no call is said where it is known") {
  Picture picture = job(2);
  collective(picture, 0, "MPI_Allreduce");
  computes(picture, 1, 40);
  thread_of(picture, 1).asleep = true;
  CHECK_THAT(standing(picture).problems[0].text, Contains("for it: it sleeps there"));
  Process& process = picture.processes[1];
  Thread other = process.threads.front();
  other.tid = 99;
  other.ordinal = 3;
  process.threads.push_back(other);
  LockWait& wait = process.lock_waits.emplace_back();
  wait.tid = process.threads.front().tid;
  wait.owner = 99;
  CHECK_THAT(standing(picture).problems[0].text,
             Contains("it waits for a lock that thread 3 holds, in main at a.c:7"));
  wait.owner = 0;
  CHECK_THAT(standing(picture).problems[0].text, Contains("it: it waits for a lock"));
}

TEST_CASE("a rank is compared with itself, not with what it was before an exec") {
  Picture picture = job(2);
  for (const std::int32_t rank : {0, 1}) receives(picture, rank, 1 - rank);
  Process before_exec = picture.processes[0];
  before_exec.rank = -1;
  before_exec.threads.clear();
  picture.processes.push_back(before_exec);
  CHECK(kinds(standing(picture)) == std::vector{ProblemKind::deadlock});
}

TEST_CASE("dead and stopped processes are named") {
  Picture picture = job(3);
  for (const std::int32_t rank : {0, 1}) collective(picture, rank, "MPI_Barrier");
  picture.processes[2].life = Life::stopped;
  CHECK_THAT(standing(picture).problems[0].text,
             Contains("rank 2 (process 1002 on here) is stopped by a signal"));
  picture.processes[2].life = Life::died;
  const Findings findings = standing(picture);
  CHECK(findings.problems[0].kind == ProblemKind::not_moving);
  CHECK(findings.problems[0].ranks == List{2});
  CHECK(findings.problems[1].kind == ProblemKind::missing_in_collective);
}

TEST_CASE("of a job that is over, only waits of some length count") {
  Picture picture = job(2);
  picture.over = true;
  for (const std::int32_t rank : {0, 1}) receives(picture, rank, 1 - rank);
  CHECK(find(picture, nullptr, {}).stuck());
  for (const std::int32_t rank : {0, 1}) thread_of(picture, rank).since_ns = kNow - 100'000'000;
  CHECK_FALSE(find(picture, nullptr, {}).stuck());
}

TEST_CASE("a job that a rank aborted is not stuck, but for a deadlock before") {
  Picture picture = job(3);
  picture.over = true;
  picture.processes[2].life = Life::died;
  picture.processes[2].crash = culprit::measurement::kAbort;
  collective(picture, 0, "MPI_Barrier");
  const Findings aborted = find(picture, nullptr, {});
  CHECK(aborted.problems.empty());
  CHECK(aborted.crashed == List{2});
  CHECK(aborted.verdict == "Aborted: rank 2 ended the job (MPI_Abort, abort or an uncaught exception)");
  for (const std::int32_t rank : {0, 1}) receives(picture, rank, 1 - rank);
  CHECK(find(picture, nullptr, {}).verdict == "Stuck: a deadlock of ranks 0, 1");
  picture.processes[2].crash.clear();
  CHECK(find(picture, nullptr, {}).verdict == "Stuck: rank 2 does not move");
}

TEST_CASE("of a job that a rank's crash ended, the signal is named, and where the rank was") {
  Picture picture = job(3);
  picture.over = true;
  collective(picture, 0, "MPI_Barrier");
  Process& second = picture.processes[1];
  second.life = Life::died;
  second.crash = "SIGSEGV (Segmentation fault)";
  CHECK(find(picture, nullptr, {}).verdict == "Crashed: SIGSEGV (Segmentation fault) ended rank 1");
  second.crashed = 0;
  thread_of(picture, 1).path = {{.name = "smooth", .file = "a.c", .line = 20, .module = "a"}};
  const Findings one = find(picture, nullptr, {});
  CHECK(one.verdict == "Crashed: SIGSEGV (Segmentation fault) ended rank 1, in smooth at a.c:20");
  CHECK(one.problems.empty());
  CHECK_FALSE(one.well());
  CHECK_FALSE(one.aborted);
  picture.processes[2].crash = second.crash;
  CHECK(find(picture, nullptr, {}).verdict ==
        "Crashed: SIGSEGV (Segmentation fault) ended ranks 1, 2, rank 1 in smooth at a.c:20");
}

TEST_CASE("of a job that was killed, the rank that was last seen clearly before the others is known") {
  Picture picture = job(3);
  for (Process& process : picture.processes) process.silent_s = process.rank == 1 ? 1.1 : process.rank * 0.1;
  CHECK(find(picture, nullptr, {}).first_gone.rank == -1);  // it runs
  picture.over = true;
  const FirstGone first = find(picture, nullptr, {}).first_gone;
  CHECK(first.rank == 1);
  CHECK(first.before_s == Approx(0.9));
  picture.processes[0].host = "there";  // whose clock is another one
  CHECK(find(picture, nullptr, {}).first_gone.rank == -1);
  picture.processes[1].silent_s = 3;
  CHECK(find(picture, nullptr, {}).first_gone.rank == 1);
  picture.processes[2].silent_s = 2.6;
  CHECK(find(picture, nullptr, {}).first_gone.rank == -1);
  picture.processes[2].life = Life::ended;
  picture.processes[2].silent_s = 0;
  CHECK(find(picture, nullptr, {}).first_gone.rank == -1);
  CHECK(find(job(1), nullptr, {}).first_gone.rank == -1);
}

TEST_CASE("a rank that left without MPI_Finalize ended the job, unless all did") {
  Picture picture = job(3);
  picture.over = true;
  picture.processes[0].life = picture.processes[1].life = Life::died;  // launchers kill the others
  picture.processes[2].life = Life::ended;
  picture.processes[2].left = true;
  collective(picture, 0, "MPI_Barrier");
  Findings found = find(picture, nullptr, {});
  CHECK(found.problems.empty());
  CHECK(found.left == List{2});
  CHECK_FALSE(found.well());
  CHECK(found.verdict == "Left: rank 2 ended without MPI_Finalize (exit or return from main)");
  for (Process& process : picture.processes) process.left = true;
  CHECK(find(picture, nullptr, {}).left.empty());
  picture.over = false;
  for (const std::int32_t rank : {0, 1}) picture.processes[static_cast<std::size_t>(rank)].left = false;
  CHECK(find(picture, nullptr, {}).left.empty());
}

TEST_CASE("a job whose ranks all left without MPI_Finalize is judged as if it had been killed") {
  Picture picture = job(3);
  picture.over = true;
  for (Process& process : picture.processes) {
    process.life = Life::ended;
    process.left = true;
  }
  Findings found = find(picture, nullptr, {});
  CHECK(found.all_left);
  CHECK(found.well());
  for (const std::int32_t rank : {0, 1}) receives(picture, rank, 1 - rank);
  found = find(picture, nullptr, {});
  CHECK(found.verdict == "Stuck: a deadlock of ranks 0, 1");
  CHECK(found.waiting.size() == 2);
  SECTION("others were killed by the daemons of their hosts") {
    picture.processes[2].left = false;
    picture.processes[2].life = Life::running;
    found = find(picture, nullptr, {});
    CHECK_FALSE(found.all_left);
    CHECK(found.left.empty());
    CHECK(found.verdict == "Stuck: a deadlock of ranks 0, 1");
  }
  SECTION("another thread than the main one waited: the process ended itself") {
    picture.processes[2].left = false;
    picture.processes[2].life = Life::died;
    picture.processes[0].left = false;
    picture.processes[0].life = Life::running;
    thread_of(picture, 1).ordinal = 1;
    found = find(picture, nullptr, {});
    CHECK(found.left == List{1});
  }
}

TEST_CASE("a long chain is judged in one pass") {
  constexpr std::int32_t kRanks = 50'000;
  Picture picture = job(kRanks);
  for (std::int32_t rank = 1; rank < kRanks; ++rank) receives(picture, rank, rank - 1);
  CHECK_FALSE(standing(picture).stuck());
  receives(picture, 0, kRanks - 1);
  const Findings findings = standing(picture);
  REQUIRE(kinds(findings) == std::vector{ProblemKind::deadlock});
  CHECK(findings.problems[0].ranks.size() == kRanks);
}

TEST_CASE("A place in Python is the function's line, unless code of the program's own lies between") {
  const auto frame = [](const char* name, const char* module, std::uint32_t line = 0) {
    return Frame{.name = name, .file = line == 0 ? "" : "/a/b.c", .line = line, .module = module};
  };
  std::vector<Frame> path = {
      frame("main", "python3.11"),
      {.name = "Solver.step", .file = "/home/me/heat.py", .line = 12, .module = "<python>", .python = true},
      frame("_PyEval_EvalFrameDefault", "python3.11", 99),
      frame("PyObject_Vectorcall", "python3.11", 98)};
  CHECK(place_of(path) == "Solver.step at heat.py:12");
  path.push_back(frame("MPI.so@0x100", "MPI.so"));
  path.push_back({.name = "MPI_Recv", .file = {}, .module = "libmpi.so.40", .mpi = true});
  CHECK(place_of(path) == "Solver.step at heat.py:12");
  path[4] = frame("exchange", "halo.so", 7);
  CHECK(place_of(path) == "exchange at b.c:7");
  path.erase(path.begin() + 1);  // no Python function is known
  path[3] = frame("MPI.so@0x100", "MPI.so");
  CHECK(place_of(path) == "MPI.so@0x100");
}
