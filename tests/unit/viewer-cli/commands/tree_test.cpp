// How trees look.
#include "commands/run.hpp"
#include "text/shorten.hpp"
#include "viewer-cli/run.hpp"
#include "views/solver_sample.hpp"

#include <catch2/catch.hpp>

namespace culprit::viewer::testing {
namespace {

using database::ContextId;
using database::ContextKind;
using views::testing::SampleExperiment;
using views::testing::SolverSample;

}  // namespace

TEST_CASE("Calling contexts at 100 columns") {
  const SolverSample solver;
  CHECK(run(solver.sample, {"view"}) == R"(   time          self     wait    blame
      s      %      %        s        s  calling-context, 8 threads
8 000.0  100.0         1 710.0           <run>
8 000.0  100.0         1 710.0           <program root>
8 000.0  100.0         1 710.0           main  main.c:20
7 840.0   98.0   21.5  1 710.0           ├ cg_iterate  ← main.c:31
7 840.0   98.0         1 710.0  1 710.0  │ loop at solver.c:412
4 410.0   55.1   55.1                    │ ├ spmv  ← solver.c:414
4 410.0   55.1   55.1                    │ │ loop at spmv.c:90
1 720.0   21.5   21.5                    │ ├ dot  (inlined, solver.c:30)
1 710.0   21.4         1 710.0           │ └ MPI_Allreduce  ← solver.c:418
  160.0    2.0    2.0                    └ setup  ← main.c:27

Left out: 1 branch inside MPI and other waits (--inside-waits) and 3 source lines (--lines).
)");
}

TEST_CASE("Callers and the flat view") {
  const SolverSample solver;
  const std::string callers = run(solver.sample, {"view", "callers", "--focus", "spmv|Allreduce"});
  INFO(callers);
  CHECK(callers.find("spmv  spmv.c:88\n") != std::string::npos);
  CHECK(callers.find("  ← cg_iterate  solver.c:400\n") != std::string::npos);
  CHECK(callers.find("opal_progress") == std::string::npos);
  const std::string flat = run(solver.sample, {"view", "flat"});
  INFO(flat);
  CHECK(flat.find("cg\n") != std::string::npos);
  CHECK(flat.find("├ solver.c\n") != std::string::npos);
  CHECK(flat.find("MPI_Allreduce  libmpi.so.40\n") != std::string::npos);
}

TEST_CASE("Everything is shown when asked for") {
  const SolverSample solver;
  const std::string text = run(solver.sample, {"view", "--all", "--ids"});
  INFO(text);
  CHECK(text.find("opal_progress") != std::string::npos);
  CHECK(text.find("spmv.c:92  [c") != std::string::npos);
  CHECK(text.find("Left out") == std::string::npos);
}

TEST_CASE("ASCII guides where the locale has no UTF-8, and fewer columns where there is less room") {
  const SolverSample solver;
  const std::string text = run(solver.sample, {"view"}, 80, false);
  INFO(text);
  CHECK(text.find("|-cg_iterate  <- main.c:31") != std::string::npos);
  CHECK(text.find("`-setup") != std::string::npos);
  CHECK(text.find("self") == std::string::npos);
  for (const char letter : text) CHECK(static_cast<unsigned char>(letter) < 0x80U);
}

TEST_CASE("Chosen metrics become columns with their statistic, scope and unit") {
  const SolverSample solver;
  const std::string text =
      run(solver.sample, {"view", "--metrics", "REALTIME:cv,samples (E),REALTIME:max"}, 120);
  INFO(text);
  CHECK(text.find("cv (I) %") != std::string::npos);
  CHECK(text.find("sum (E)") != std::string::npos);
  CHECK(text.find("max (I) s") != std::string::npos);
}

TEST_CASE("Sorted by what scopes take themselves, branches are as large as what lies below them") {
  const SolverSample solver;
  const std::string text = run(solver.sample, {"view", "--sort", "REALTIME:sum (E)"});
  INFO(text);
  CHECK(text.find("MPI_Allreduce") != std::string::npos);
  CHECK(text.find("nothing to show") == std::string::npos);
  const std::string large = run(solver.sample, {"view", "--sort", "REALTIME:sum (E)", "--min", "30"});
  CHECK(large.find("spmv") != std::string::npos);
  CHECK(large.find("setup") == std::string::npos);
}

TEST_CASE("Long names give way, whatever the width") {
  SampleExperiment sample({"REALTIME"});
  sample.add_location(0, 0, sample.add_role("main"));
  ContextId at = 0;
  for (std::uint32_t depth = 0; depth < 30; ++depth) {
    const ContextId call =
        sample.add(at, {ContextKind::call, "", "/src/a_rather_long_file_name.cpp", depth + 1});
    at = sample.add(call,
                    {ContextKind::procedure, "library::detail::visitor<std::variant<int, double>, " +
                                                 std::to_string(depth) + ">::operator()(int, double) const"});
    sample.set(sample.add(at, {ContextKind::statement, "", "a.cpp", 1}), 0, 0, 1);
  }
  sample.finish();
  for (const std::size_t width : {60U, 80U, 100U, 200U}) {
    const std::string text = run(sample, {"view", "--min", "0"}, width);
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = text.find('\n', begin);
      INFO(text.substr(begin, end - begin));
      CHECK(columns(std::string_view(text).substr(begin, end - begin)) <= width);
      begin = end + 1;
    }
  }
}

TEST_CASE("Frames that only lead to main are left out, and said to be") {
  SampleExperiment sample({"REALTIME"});
  sample.add_location(0, 0, sample.add_role("main"));
  const std::string libc = "/lib/libc.so.6";
  const ContextId program = sample.add(0, {ContextKind::root, "<program root>", "", 0, ""});
  const ContextId stripped = sample.add(program, {ContextKind::procedure, "app@0x1240", "", 0});
  const ContextId start = sample.add(sample.add(stripped, {ContextKind::call, ""}),
                                     {ContextKind::procedure, "__libc_start_main", "", 0, libc});
  const ContextId main = sample.add(sample.add(start, {ContextKind::call, "", "", 0, libc}),
                                    {ContextKind::procedure, "main", "a.c", 3});
  sample.set(sample.add(main, {ContextKind::statement, "", "a.c", 5}), 0, 0, 7'000'000'000);
  const ContextId clone = sample.add(main, {ContextKind::procedure, "clone", "a.c", 30});
  sample.set(sample.add(clone, {ContextKind::statement, "", "a.c", 31}), 0, 0, 3'000'000'000);
  sample.finish();
  const std::string text = run(sample, {"view"});
  INFO(text);
  CHECK(text.find("app@0x1240") == std::string::npos);
  CHECK(text.find("__libc_start_main") == std::string::npos);
  CHECK(text.find("main  a.c:3\n") != std::string::npos);
  CHECK(text.find("clone  a.c:30\n") != std::string::npos);  // the program's own
  CHECK(text.find("start-up frames") != std::string::npos);
  CHECK(run(sample, {"view", "callers"}).find("__libc_start_main") == std::string::npos);
  CHECK(run(sample, {"view", "--all"}).find("__libc_start_main") != std::string::npos);
}

TEST_CASE("Nameless loops directly inside each other are one line") {
  SampleExperiment sample({"REALTIME"});
  sample.add_location(0, 0, sample.add_role("main"));
  const ContextId main = sample.add(0, {ContextKind::procedure, "app@0x10", "", 0});
  ContextId at = main;
  for (int depth = 0; depth < 3; ++depth) at = sample.add(at, {ContextKind::loop, "", "", 0});
  sample.set(sample.add(at, {ContextKind::statement, "", "", 0}), 0, 0, 6'000'000'000);
  sample.finish();
  CHECK(run(sample, {"view"}).find("loop, 3 deep\n") != std::string::npos);
  CHECK(run(sample, {"view"}).find("loop\n") == std::string::npos);
  CHECK(run(sample, {"view", "--ids"}).find("deep") == std::string::npos);
  CHECK(run(sample, {"view", "--all"}).find("deep") == std::string::npos);
}

TEST_CASE("Blame on a call site is shown where the call stands") {
  SolverSample solver;
  database::Experiment& experiment = solver.sample.build();
  const ContextId call = experiment.contexts[solver.allreduce].parent;
  REQUIRE(experiment.contexts[call].kind == ContextKind::call);
  experiment.blame[0] = {{call, 1'710'000'000'000, 0, 0}};
  const std::string text = run(solver.sample, {"view"});
  INFO(text);
  CHECK(text.find("1 710.0  1 710.0  │ loop at solver.c:412") != std::string::npos);
}

TEST_CASE("The hot path as a table") {
  const SolverSample solver;
  const std::string text = run(solver.sample, {"hot-path", "--metric", "idleness"});
  INFO(text);
  CHECK(text.find("MPI_Allreduce  ← solver.c:418\n") != std::string::npos);
  CHECK(text.find("opal_progress") == std::string::npos);
}

TEST_CASE("The hot path of what frames cost themselves is that of what lies below them") {
  const SolverSample solver;
  const std::string text = run(solver.sample, {"hot-path", "--metric", "REALTIME:sum (E)"});
  INFO(text);
  CHECK(text.find("spmv  ← solver.c:414\n") != std::string::npos);
  CHECK(run(solver.sample, {"hot-path", "--metric", "imbalance (E)"}).find("The run has no") ==
        std::string::npos);
}

TEST_CASE("What the database does not have is wrong usage") {
  const SolverSample solver;
  CHECK_THROWS_WITH(run(solver.sample, {"view", "--sort", "NOPE"}), Catch::Contains("NOPE"));
  CHECK_THROWS_WITH(run(solver.sample, {"view", "--role", "io"}), Catch::Contains("io"));
  CHECK_THROWS_WITH(run(solver.sample, {"view", "--ranks", "9"}), Catch::Contains("9"));
  CHECK_THROWS_WITH(run(solver.sample, {"view", "--ranks", "x"}), Catch::Contains("x"));
  CHECK_THROWS_WITH(run(solver.sample, {"view", "--focus", "("}), Catch::Contains("("));
  CHECK_THROWS_WITH(run(solver.sample, {"threads", "spmv", "--metric", "imbalance"}),
                    Catch::Contains("imbalance"));
  CHECK_THROWS_AS(run(solver.sample, {"threads", "no/such/node"}), UsageError);
  CHECK_THROWS_WITH(run(solver.sample, {"threads", "no/such/node"}), Catch::Contains("no/such/node"));
}

}  // namespace culprit::viewer::testing
