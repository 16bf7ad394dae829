#include "follow/summary.hpp"

#include "follow/words.hpp"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace culprit::follow;
using culprit::measurement::Gain;

namespace {

constexpr std::int64_t kMs = 1'000'000;

/// Two functions that work, one that writes, an MPI call, as a program's call paths.
class Job {
 public:
  explicit Job(int ranks) {
    for (int rank = 0; rank < ranks; ++rank)
      labels.push_back({.rank = rank, .process = "here:" + std::to_string(100 + rank)});
    file_ = code.file("/src/solve.c");
    const auto procedure = [this](const char* name) {
      Procedure made;
      made.name = name;
      made.of_program = true;
      return code.add(made);
    };
    main_ = procedure("main");
    assemble_ = procedure("assemble(int, double*)");
    prepare_ = procedure("prepare");
    Procedure call;
    call.name = "MPI_Allreduce";
    call.mpi = call.waits = true;
    reduce_ = code.add(call);
    Procedure writing;
    writing.name = "write";
    writing.io = writing.library = true;
    write_ = code.add(writing);
    Procedure copy;
    copy.name = "memcpy";
    copy.library = copy.moves = true;
    copy_ = code.add(copy);
  }

  Place main_place() { return at(tree.root(), main_, 7); }
  Place assemble() { return at(main_place(), assemble_, 41); }
  Place prepare() { return at(main_place(), prepare_, 12); }
  Place reduce() { return at(main_place(), reduce_, 0); }
  Place copy() { return at(reduce(), copy_, 0); }
  Place write() { return at(prepare(), write_, 0); }

  void spend(std::size_t rank, const Place& place, std::int64_t ms, std::int64_t waiting_ms = 0,
             std::int64_t cpu_ms = -1, bool blocked = false) {
    const Gain gain{.context = 0,
                    .time_ns = ms * kMs,
                    .marked_ns = waiting_ms * kMs,
                    .cpu_ns = (cpu_ms < 0 ? ms : cpu_ms) * kMs,
                    .blocked = blocked};
    const Activity activity = activity_of(place, gain);
    tree.add(place, {.time = gain.time_ns, .wait = activity.wait}, true);
    sums.add(rank, true, place.spot, activity);
  }
  Part part() { return summarize(sums, labels, tree, 2); }

  Code code;
  LiveTree tree{code};
  Sums sums;
  std::vector<ProcessLabel> labels;

 private:
  Place at(const Place& from, std::uint32_t procedure, std::uint32_t line) {
    const std::vector<Step> steps = {
        {.procedure = procedure, .file = line == 0 ? kNone : file_, .line = line}};
    return tree.enter(from, steps);
  }

  std::uint32_t file_, main_, assemble_, prepare_, reduce_, write_, copy_;
};

double share(const RankRow& row, State state) {
  return row.share[static_cast<std::size_t>(state)];
}

}  // namespace

TEST_CASE("the rank that the others wait for is named with what only it does") {
  Job job(4);
  for (std::size_t rank = 0; rank < 4; ++rank) job.spend(rank, job.prepare(), 400);
  for (std::size_t rank = 0; rank < 3; ++rank) job.spend(rank, job.reduce(), 1600, 1600);
  job.spend(3, job.assemble(), 1600);
  const Part part = job.part();
  REQUIRE(part.ranks.size() == 4);
  CHECK(part.ranks[0].state == State::wait);
  CHECK(share(part.ranks[0], State::wait) == Approx(0.8));
  CHECK(part.ranks[0].at == "MPI_Allreduce (main at solve.c:7)");
  CHECK(part.ranks[3].state == State::work);
  CHECK(part.ranks[3].at == "assemble at solve.c:41");
  CHECK(part.share[static_cast<std::size_t>(State::wait)] == Approx(0.6));
  REQUIRE(part.hot.size() == 3);
  CHECK(part.hot[0].ranks.size() + part.hot[1].ranks.size() == 5);
  CHECK(part.hot[2].call == "MPI_Allreduce");  // waits come last
  CHECK(part.diagnosis ==
        "rank 3 works in assemble at solve.c:41 (100 % of its time) while ranks 0-2 wait in MPI_Allreduce "
        "(main at solve.c:7) (80 %)");
}

TEST_CASE("what moves data in a call is work, and reading and writing is neither") {
  Job job(1);
  job.spend(0, job.copy(), 100, 100);
  job.spend(0, job.write(), 300, 0, 0);
  job.spend(0, job.reduce(), 100, 100);
  const Part part = job.part();
  CHECK(share(part.ranks[0], State::work) == Approx(0.2));
  CHECK(share(part.ranks[0], State::io) == Approx(0.6));
  CHECK(share(part.ranks[0], State::wait) == Approx(0.2));
  CHECK(part.ranks[0].state == State::io);
  CHECK(part.ranks[0].at == "write (prepare at solve.c:12)");
}

TEST_CASE("who would run and does not has no processor; who sleeps is asleep") {
  Job job(2);
  job.spend(0, job.prepare(), 1000, 0, 300);
  job.spend(1, job.prepare(), 1000, 0, 0, true);
  const Part part = job.part();
  CHECK(part.ranks[0].state == State::no_processor);
  CHECK(share(part.ranks[0], State::no_processor) == Approx(0.7));
  CHECK(part.ranks[1].state == State::asleep);
  CHECK(part.diagnosis.starts_with("rank 0 has no processor for 70 % of the time; "));
}

TEST_CASE("where all wait alike nobody is accused, and where none waits all work") {
  Job job(4);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    job.spend(rank, job.prepare(), 1000);
    job.spend(rank, job.reduce(), 1000, 1000);
  }
  CHECK(job.part().diagnosis.starts_with("all ranks wait, 50 % of their time, most of it in MPI_Allreduce"));
  Job busy(2);
  busy.spend(0, busy.assemble(), 1000);
  busy.spend(1, busy.assemble(), 1000);
  CHECK(busy.part().diagnosis == "ranks 0, 1 work in assemble at solve.c:41 (100 % of their time)");
}

TEST_CASE("processes that have ended or write nothing say so; of none nothing is said") {
  Job job(2);
  job.spend(0, job.assemble(), 100);
  job.spend(1, job.assemble(), 100);
  job.labels[0].ended = true;
  job.labels[1].silent = true;
  CHECK(job.part().ranks[0].state == State::ended);
  CHECK(job.part().ranks[1].state == State::silent);
  job.labels[1].silent_s = 12;
  CHECK(job.part().diagnosis.starts_with(
      "rank 1 has written nothing for 12 s: stopped, dead, or its host does not answer"));
  job.labels[1].here = true;
  CHECK(job.part().diagnosis ==
        "rank 1 has written nothing for 12 s: stopped, or without a processor; rank 1 works in assemble at "
        "solve.c:41 (100 % of its time)");
  CHECK(summarize({}, {}, job.tree, 0).diagnosis == "nothing ran");
}

TEST_CASE("of ranks that only wait nothing else is said") {
  Job job(2);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    job.spend(rank, job.reduce(), 970, 970);
    job.spend(rank, job.assemble(), 30);
  }
  CHECK(job.part().diagnosis ==
        "all ranks wait, 97 % of their time, most of it in MPI_Allreduce (main at solve.c:7)");
}

TEST_CASE("where all ranks only wait, look after look, stuck is named") {
  const auto interval = [](std::int64_t works_ms) {
    Job job(2);
    for (std::size_t rank = 0; rank < 2; ++rank) job.spend(rank, job.reduce(), 1000, 1000);
    job.spend(1, job.assemble(), works_ms);
    return job.part();
  };
  Standstill standstill;
  for (int look = 0; look < 2; ++look) standstill.look(interval(20));
  CHECK(standstill.in_words("run1").empty());
  standstill.look(interval(20));
  CHECK(standstill.in_words("run 1") ==
        "all ranks have only waited for 6 s: viewer-cli 'run 1' stuck says for whom");
  standstill.look(interval(200));
  CHECK(standstill.in_words("run1").empty());
  for (int look = 0; look < 3; ++look) standstill.look({});  // nobody runs
  CHECK(standstill.in_words("run1").empty());
}

TEST_CASE("who waits for ranks that are gone waits, and is not all ranks") {
  Job job(3);
  job.spend(0, job.reduce(), 1000, 1000);
  job.spend(1, job.reduce(), 1000, 1000);
  job.labels[2].silent = true;
  job.labels[2].silent_s = 12;
  CHECK(job.part().diagnosis.ends_with(
      "; ranks 0, 1 wait, 100 % of their time, most of it in MPI_Allreduce (main at solve.c:7)"));
  Job pair(2);
  pair.spend(0, pair.reduce(), 1000, 1000);
  pair.labels[1].silent = true;
  pair.labels[1].silent_s = 12;
  CHECK(pair.part().diagnosis.ends_with(
      "; rank 0 waits, 100 % of its time, most of it in MPI_Allreduce (main at solve.c:7)"));
}

TEST_CASE("the machine is named before the code") {
  Job job(2);
  job.spend(0, job.reduce(), 1000, 1000);
  job.spend(1, job.assemble(), 1000, 0, 300);
  const std::string machine = "on host node, ranks 0, 1 share 1 processor";
  const Part part = summarize(job.sums, job.labels, job.tree, 2, machine);
  CHECK(part.machine == machine);
  CHECK(part.diagnosis.starts_with(machine + "; rank 1 "));
}

TEST_CASE("who lives and has no samples is not silent, and who died says so") {
  Job job(3);
  job.spend(0, job.assemble(), 100);
  job.spend(1, job.assemble(), 100);
  job.labels[1].died = true;
  job.labels[1].silent = true;
  const Part part = job.part();
  CHECK(part.ranks[1].state == State::died);
  CHECK(part.ranks[2].state == State::not_sampled);
  CHECK(part.diagnosis.starts_with("rank 1 died; rank 0 works"));
  CHECK(worse(State::wait, State::work) == State::work);
  CHECK(worse(State::died, State::no_processor) == State::died);
}

TEST_CASE("who is blocked within MPI_Init sleeps") {
  Place start;
  start.mpi = start.never = true;
  const Activity activity = activity_of(
      start, {.context = 0, .time_ns = 500 * kMs, .marked_ns = 500 * kMs, .cpu_ns = 0, .blocked = true});
  CHECK(activity.sleep == 500 * kMs);
  CHECK(activity.all() == activity.sleep);
}

TEST_CASE("of a rank's processes the one that started last is the rank") {
  std::vector<ProcessLabel> labels;
  for (const std::int64_t start : {20, 30, 10})
    labels.push_back({.rank = 1, .process = {}, .start_ns = start});
  labels.push_back({.rank = -1, .process = {}});
  drop_double_ranks(labels);
  CHECK(labels[0].rank == -1);
  CHECK(labels[1].rank == 1);
  CHECK(labels[2].rank == -1);
}

TEST_CASE("a wait that ends gives back what was charged of it") {
  Job job(1);
  job.spend(0, job.reduce(), 500, 500);
  job.sums.clear();
  job.spend(0, job.reduce(), -500, -500);
  job.spend(0, job.reduce(), 700, 700);
  CHECK(job.part().ranks[0].seconds == Approx(0.2));
}

TEST_CASE("the tree sums what lies below; the interval starts anew, the run goes on") {
  Job job(1);
  job.spend(0, job.assemble(), 100);
  job.spend(0, job.reduce(), 100, 100);
  job.tree.start_interval();
  job.spend(0, job.prepare(), 50);
  CHECK(job.tree.inclusive(true)[0].time == 50 * kMs);
  CHECK(job.tree.inclusive(false)[0].time == 250 * kMs);
  CHECK(job.tree.inclusive(false)[job.main_place().node].wait == 100 * kMs);
}

TEST_CASE("names lose their parameters in sentences") {
  CHECK(short_name("assemble(int, double*)") == "assemble");
  CHECK(short_name("(anonymous namespace)::run(int)") == "(anonymous namespace)::run");
  CHECK(short_name("main") == "main");
}
