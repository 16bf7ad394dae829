#include "views/callers.hpp"

#include "views/solver_sample.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

namespace culprit::views::testing {
namespace {

using database::ContextId;
using database::ContextKind;

NodeId child_named(View& view, const std::vector<NodeId>& nodes, std::string_view name) {
  const auto found =
      std::find_if(nodes.begin(), nodes.end(), [&](NodeId node) { return view.frame(node).name == name; });
  REQUIRE(found != nodes.end());
  return *found;
}

}  // namespace

TEST_CASE("Direct recursion: the inner instance adds to exclusive, not to inclusive cost") {
  SampleExperiment sample({"REALTIME"});
  sample.add_location(0, 0, sample.add_role("main"));
  const ContextId main = sample.add(0, {ContextKind::procedure, "main", "a.c", 1});
  const ContextId outer = sample.add(main, {ContextKind::procedure, "sort", "a.c", 9});
  const ContextId outer_line = sample.add(outer, {ContextKind::statement, "", "a.c", 10});
  const ContextId inner = sample.add(outer, {ContextKind::procedure, "sort", "a.c", 9});
  const ContextId inner_line = sample.add(inner, {ContextKind::statement, "", "a.c", 10});
  sample.set(outer_line, 0, 0, 2'000'000'000);
  sample.set(inner_line, 0, 0, 5'000'000'000);
  sample.finish();
  const Figures figures(sample);
  Callers callers(figures);
  const Column inclusive = find_column(sample.experiment(), "REALTIME (I)");
  const Column exclusive = find_column(sample.experiment(), "REALTIME (E)");

  const NodeId sort = child_named(callers, callers.roots(), "sort");
  CHECK(callers.value(sort, inclusive) == Approx(7));
  CHECK(callers.value(sort, exclusive) == Approx(7));
  const std::vector<NodeId> by = callers.children(sort);
  REQUIRE(by.size() == 2);
  CHECK(callers.value(child_named(callers, by, "main"), inclusive) == Approx(7));
  CHECK(callers.value(child_named(callers, by, "main"), exclusive) == Approx(2));
  const NodeId recursive = child_named(callers, by, "sort");
  CHECK(callers.value(recursive, inclusive) == 0);
  CHECK(callers.value(recursive, exclusive) == Approx(5));
  CHECK(callers.children(child_named(callers, callers.children(recursive), "main")).empty());
}

TEST_CASE("Callers of an MPI call are the procedures that led to it") {
  const SolverSample solver;
  const Figures figures(solver.sample);
  Callers callers(figures);
  const NodeId allreduce = child_named(callers, callers.roots(), "MPI_Allreduce");
  CHECK(callers.value(allreduce, find_column(solver.sample.experiment(), "idleness")) == Approx(1710));
  const std::vector<NodeId> by = callers.children(allreduce);
  REQUIRE(by.size() == 1);
  CHECK(callers.frame(by[0]).name == "cg_iterate");
  const std::vector<Frame> path = callers.path(callers.children(by[0]).at(0));
  REQUIRE(path.size() == 3);
  CHECK(path[2].name == "main");
}

TEST_CASE("Blame of a procedure counts its own code, loops included") {
  const SolverSample solver;
  const Figures figures(solver.sample);
  Callers callers(figures);
  const Column own = find_column(solver.sample.experiment(), "imbalance (E)");
  CHECK(callers.value(child_named(callers, callers.roots(), "cg_iterate"), own) == Approx(1710));
  CHECK(callers.value(child_named(callers, callers.roots(), "main"), own) == 0);
}

TEST_CASE("Observers of a merged node are exact only where nothing can overlap") {
  SampleExperiment sample({"REALTIME"});
  const std::uint32_t role = sample.add_role("main");
  sample.add_location(0, 0, role);
  sample.add_location(1, 0, role);
  sample.add_location(2, 0, role);
  const ContextId main = sample.add(0, {ContextKind::procedure, "main", "a.c", 1});
  for (std::uint32_t location = 0; location < 2; ++location) {
    const ContextId call = sample.add(main, {ContextKind::call, "", "a.c", 5 + location});
    const ContextId callee = sample.add(call, {ContextKind::procedure, "f", "a.c", 50});
    sample.set(sample.add(callee, {ContextKind::statement, "", "a.c", 51}), 0, location, 7);
  }
  sample.finish();
  const Figures figures(sample);
  Callers callers(figures);
  const Presence merged = callers.presence(child_named(callers, callers.roots(), "f"), std::nullopt);
  CHECK(merged.observers == 1);
  CHECK(merged.threads == 3);
  CHECK_FALSE(merged.exact);
  CHECK(callers.presence(child_named(callers, callers.roots(), "main"), std::nullopt).exact);
  CHECK(callers.value(child_named(callers, callers.roots(), "f"),
                      find_column(sample.experiment(), "REALTIME:count")) == 2);
}

}  // namespace culprit::views::testing
