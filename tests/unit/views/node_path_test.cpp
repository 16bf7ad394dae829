#include "views/node_path.hpp"

#include "views/calling_context.hpp"
#include "views/solver_sample.hpp"

#include <catch2/catch.hpp>

namespace culprit::views::testing {

using Found = std::vector<database::ContextId>;

TEST_CASE("Nodes are found by names from any frame downwards") {
  const SolverSample solver;
  const Figures figures(solver.sample);
  CHECK(find_contexts(figures, "spmv") == Found{solver.spmv});
  CHECK(find_contexts(figures, "main/cg_iterate/spmv") == Found{solver.spmv});
  CHECK(find_contexts(figures, "cg_iterate/loop at solver.c:412/spmv") == Found{solver.spmv});
  CHECK(find_contexts(figures, "cg_iterate/solver.c:412") == Found{solver.loop});
  CHECK(find_contexts(figures, "<run>/<program root>/main") == Found{solver.main});
  CHECK(find_contexts(figures, "main/cg_iterate/dot") == Found{solver.dot});
}

TEST_CASE("The name that is not found is said") {
  const SolverSample solver;
  const Figures figures(solver.sample);
  CHECK_THROWS_WITH(find_contexts(figures, "main/setup/spmv"), Catch::Contains("'spmv' directly below"));
  CHECK_THROWS_WITH(find_contexts(figures, "nothing"), Catch::Contains("called 'nothing'"));
  CHECK_THROWS_AS(find_contexts(figures, ""), NoSuchNode);
  CHECK_THROWS_AS(find_contexts(figures, "main//spmv"), NoSuchNode);
  CHECK_THROWS_AS(find_contexts(figures, "/main"), NoSuchNode);
}

TEST_CASE("Start-up frames may be left out, and names may hold slashes") {
  using database::ContextKind;
  SampleExperiment sample({"REALTIME"});
  sample.add_location(0, 0, sample.add_role("main"));
  const auto program = sample.add(0, {ContextKind::root, "<program root>"});
  const auto start =
      sample.add(program, {ContextKind::procedure, "_start", "", 0, "app", database::kStartUp});
  const auto main = sample.add(start, {ContextKind::procedure, "main"});
  const auto file = sample.add(main, {ContextKind::region, "file /tmp/mesh.dat"});
  const auto read = sample.add(file, {ContextKind::procedure, "read"});
  const auto divide = sample.add(main, {ContextKind::procedure, "operator/(Vector const&, double)"});
  sample.finish();
  const Figures figures(sample);
  CHECK(find_contexts(figures, "<program root>/main") == Found{main});
  CHECK(find_contexts(figures, "<program root>/_start/main") == Found{main});
  CHECK(find_contexts(figures, "main/file /tmp/mesh.dat") == Found{file});
  CHECK(find_contexts(figures, "file /tmp/mesh.dat/read") == Found{read});
  CHECK(find_contexts(figures, "main/operator/") == Found{divide});
  CHECK_THROWS_WITH(find_contexts(figures, "main/file /tmp/mesh.dat/write"),
                    Catch::Contains("'write' directly below"));
  CHECK_THROWS_WITH(find_contexts(figures, "main/file /tmp/other"),
                    Catch::Contains("'file ' directly below"));
}

TEST_CASE("The hot path keeps at least half of its parent's metric") {
  const SolverSample solver;
  const Figures figures(solver.sample);
  CallingContext tree(figures);
  const auto last = [&](const char* metric) {
    const Column column = find_column(solver.sample.experiment(), metric);
    return hot_path(tree, column, total(figures, column)).back();
  };
  CHECK(label(tree.frame(last("REALTIME").node)) == "spmv.c:92");
  CHECK(last("REALTIME").share == Approx(0.55125));
  CHECK(tree.frame(last("idleness").node).module == "/usr/lib/libmpi.so.40");
  CHECK(last("idleness").value == Approx(1710));
  CHECK(last("imbalance").node == solver.loop);
}

TEST_CASE("A metric that nothing has gives no hot path") {
  SampleExperiment sample({"REALTIME"});
  sample.add_location(0, 0, sample.add_role("main"));
  sample.finish();
  const Figures figures(sample);
  CallingContext tree(figures);
  CHECK(hot_path(tree, find_column(sample.experiment(), "REALTIME"), 0).empty());
  CHECK(hot_rows(tree, find_column(sample.experiment(), "REALTIME"), {}).empty());
}

}  // namespace culprit::views::testing
