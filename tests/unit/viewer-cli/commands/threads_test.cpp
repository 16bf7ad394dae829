#include "commands/run.hpp"
#include "text/shorten.hpp"
#include "viewer-cli/run.hpp"
#include "views/solver_sample.hpp"

#include <catch2/catch.hpp>

namespace culprit::viewer::testing {

using database::ContextId;
using database::ContextKind;
using views::testing::SampleExperiment;
using views::testing::SolverSample;
using views::testing::WorkersSample;

TEST_CASE("A bar per thread, outliers with their difference from the mean") {
  const SolverSample solver;
  CHECK(run(solver.sample, {"threads", "spmv"}, 60) == R"(spmv at spmv.c:88

REALTIME (I), 8 main threads: min 500.0 s, mean 551.2 s, max
  705.0 s, deviation 16.1 %
rank 0  500.0 s         █████████████████████████▌
rank 1  500.0 s         █████████████████████████▌
rank 2  500.0 s         █████████████████████████▌
rank 3  705.0 s  +28 %  ████████████████████████████████████
rank 4  500.0 s         █████████████████████████▌
rank 5  500.0 s         █████████████████████████▌
rank 6  500.0 s         █████████████████████████▌
rank 7  705.0 s  +28 %  ████████████████████████████████████
)");
}

TEST_CASE("Numbers have no unit count") {
  const SolverSample solver;
  const std::string text = run(solver.sample, {"threads", "spmv", "--metric", "samples"});
  INFO(text);
  CHECK(text.find("samples (I), 8 main threads: min 100 000, mean ") != std::string::npos);
  CHECK(text.find("count") == std::string::npos);
}

TEST_CASE("Roles are plotted apart; those without the node are mentioned") {
  const WorkersSample workers;
  const std::string text = run(workers.sample, {"threads", "pthread_cond_wait", "--metric", "idleness"});
  INFO(text);
  CHECK(text.find("idleness (I), 4 main threads: nothing\n") != std::string::npos);
  CHECK(text.find("idleness (I), 4 worker_main threads: min 5.000 s") != std::string::npos);
  CHECK(text.find("rank 3 thread 1  5.000") != std::string::npos);
  const std::string of_one = run(workers.sample, {"threads", "pthread_cond_wait", "--ranks", "3"});
  CHECK(of_one.find("REALTIME (I), 1 worker_main thread: ") != std::string::npos);
}

TEST_CASE("Many threads are shown in groups, outliers by name") {
  SampleExperiment sample({"REALTIME"});
  const std::uint32_t role = sample.add_role("main");
  const ContextId main = sample.add(0, {ContextKind::procedure, "main", "a.c", 1});
  const ContextId line = sample.add(main, {ContextKind::statement, "", "a.c", 2});
  for (std::uint32_t rank = 0; rank < 1000; ++rank) {
    sample.add_location(static_cast<std::int32_t>(rank), 0, role);
    sample.set(line, 0, rank, (rank == 617 ? 3000 : 1000 + rank % 7) * 1'000'000ULL);
  }
  sample.finish();
  const std::string text = run(sample, {"threads", "main"});
  INFO(text);
  CHECK(std::count(text.begin(), text.end(), '\n') < 45);
  CHECK(text.find("rank 617  3.000 s  +199 %") != std::string::npos);
  CHECK(text.find("rank 608 … rank 639") != std::string::npos);
}

TEST_CASE("Some ranks only, and machine-readable forms") {
  const SolverSample solver;
  CHECK(run(solver.sample, {"threads", "spmv", "--ranks", "2-3", "--format", "csv"}) ==
        "rank,thread,role,process,REALTIME:sum (I)\n2,0,main,node1:1002,500\n3,0,main,node1:1003,705\n");
}

TEST_CASE("Flat and callers ids name nodes too") {
  const SolverSample solver;
  CHECK(run(solver.sample, {"threads", "f1", "--format", "csv"}).find("0,0,main,node1:1000,1000\n") !=
        std::string::npos);
  const std::string ids = run(solver.sample, {"view", "callers", "--ids", "--focus", "spmv", "--depth", "0"});
  const std::size_t open = ids.rfind("[p");
  REQUIRE(open != std::string::npos);
  const std::string id = ids.substr(open + 1, ids.find(']', open) - open - 1);
  CHECK(run(solver.sample, {"threads", id}).find("705.0") != std::string::npos);
}

TEST_CASE("Outliers stand out of the spread and by a twentieth at least") {
  CHECK(find_outliers({1, 1, 1, 1, 2}) == std::vector<bool>{false, false, false, false, true});
  CHECK(find_outliers({100, 100, 100, 101}) == std::vector<bool>(4, false));
  CHECK(find_outliers({1, 2}) == std::vector<bool>(2, false));
  CHECK(find_outliers({}).empty());
  CHECK(find_outliers({0, 0, 0, 0, 5}) == std::vector<bool>{false, false, false, false, true});
}

}  // namespace culprit::viewer::testing
