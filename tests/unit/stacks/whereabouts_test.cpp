#include "stacks/whereabouts.hpp"

#include "observed.hpp"

#include <catch2/catch.hpp>

namespace culprit::stacks::testing {
namespace {

std::vector<std::string> sentences(const Observation& observation) {
  std::vector<std::string> all;
  for (const Whereabouts& each : find_whereabouts(observation)) all.push_back(in_words(observation, each));
  return all;
}

using Texts = std::vector<std::string>;

TEST_CASE("Ranks that stand in one call are named together, with the code that has called it") {
  Observation job;
  for (int number = 0; number < 7; ++number)
    add(job, rank(number), {in_allreduce(), in_allreduce(), in_allreduce()});
  add(job, rank(7), {in_read(), in_read(), in_read()});
  job.processes = 8;
  CHECK(sentences(job) == Texts{"ranks 0-6 stand in MPI_Allreduce under solve at app.c:20",
                                "rank 7 stands in read under load_mesh at app.c:31"});
}

TEST_CASE("What moves inside an MPI call stands in it") {
  Observation job;
  add(job, rank(0), {in_allreduce(1), in_allreduce(2), in_allreduce(4)});
  job.processes = 1;
  CHECK(sentences(job) == Texts{"rank 0 stands in MPI_Allreduce under solve at app.c:20"});
}

TEST_CASE("A thread at other lines moves within the innermost function that all looks share") {
  Observation job;
  const auto at = [](std::uint32_t line) {
    return std::vector{frame("main", 9), frame("step", 8), frame("smooth", line)};
  };
  add(job, rank(3), {at(1), at(2), at(1)});
  add(job, rank(4), {at(1), {frame("main", 9), frame("step", 7), frame("MPI_Send")}, at(1)});
  job.processes = 2;
  CHECK(sentences(job) ==
        Texts{"rank 3 moves within smooth under step", "rank 4 moves within step under main"});
}

TEST_CASE("A thread whose registers change in a line of its own moves, in a call it stands") {
  Observation job;
  const std::vector<Frame> loop = {frame("main", 9), frame("spin", 3)};
  add(job, rank(0), {loop, loop});
  add(job, rank(1), {in_allreduce(), in_allreduce()});
  job.busy = {true, true};
  job.processes = 2;
  CHECK(sentences(job) == Texts{"rank 0 moves within spin under main",
                                "rank 1 stands in MPI_Allreduce under solve at app.c:20"});
}

TEST_CASE("One look cannot tell what moves") {
  Observation job;
  add(job, rank(0), {in_read()});
  job.processes = 1;
  CHECK(sentences(job) == Texts{"rank 0 is in read under load_mesh at app.c:31"});
}

TEST_CASE("A thread is judged by the looks that saw it; one look cannot tell whether it stands") {
  Observation job;
  add(job, rank(0), {in_read(), in_read(), in_read()});
  add(job, rank(1), {in_read(), in_read(), in_read()});
  job.seen[0][0] = kNotSeen;
  job.seen[1][0] = job.seen[1][1] = kNotSeen;
  job.processes = 2;
  CHECK(sentences(job) == Texts{"rank 0 stands in read under load_mesh at app.c:31",
                                "rank 1 is in read under load_mesh at app.c:31"});
}

TEST_CASE("Threads of one process go by their numbers, those of several by the process") {
  Observation one;
  add(one, process(7), {in_read()});
  for (const std::uint32_t thread : {1, 2, 3}) add(one, process(7, thread), {in_read()});
  one.processes = 1;
  CHECK(sentences(one) == Texts{"main thread is in read under load_mesh at app.c:31",
                                "threads 1-3 are in read under load_mesh at app.c:31"});
  add(one, process(8, 1), {in_read()});
  one.processes = 2;
  const std::vector<std::size_t> all = {0, 1, 2, 3, 4};
  CHECK(names_of(one, all) == "5 threads of processes 7, 8");
  const std::vector<std::size_t> main = {0};
  CHECK(names_of(one, main) == "process 7");
}

TEST_CASE("Further threads of ranks are counted") {
  Observation job;
  for (int number = 0; number < 4; ++number) {
    add(job, rank(number), {in_read()});
    add(job, rank(number, 1), {{frame("start_thread", 0, "libc.so.6"), frame("worker", 3)}});
  }
  job.processes = 4;
  CHECK(sentences(job) == Texts{"ranks 0-3 are in read under load_mesh at app.c:31",
                                "4 threads of ranks 0-3 are in worker at app.c:3"});
}

TEST_CASE("A thread that runs no code of the program is told by the library that started it") {
  Observation job;
  add(job, rank(0, 1),
      {{frame("start_thread", 0, "libc.so.6"), frame("progress_engine", 0, "libopen-pal.so.40"),
        frame("event_base_loop", 4, "libevent.so.7"), frame("poll", 5, "libc.so.6")}});
  job.processes = 1;
  CHECK(sentences(job) == Texts{"1 thread of rank 0 is in poll under libopen-pal.so.40"});
}

TEST_CASE("A thread of which nothing is known is in unknown code") {
  Observation job;
  add(job, process(7), {{}});
  job.processes = 1;
  CHECK(sentences(job) == Texts{"main thread is in unknown code"});
}

}  // namespace
}  // namespace culprit::stacks::testing
