#include "views/figures.hpp"

#include "views/flat.hpp"
#include "views/solver_sample.hpp"

#include <cmath>

#include <catch2/catch.hpp>

namespace culprit::views::testing {

TEST_CASE("Figures of some ranks count these ranks only") {
  const SolverSample solver;
  const database::Contents& experiment = solver.sample.experiment();
  const std::vector<std::int32_t> ranks = {3, 7};
  const Column time = find_column(experiment, "REALTIME");
  const Column idleness = find_column(experiment, "idleness");
  const Figures figures(solver.sample, locations_of_ranks(experiment, ranks),
                        std::vector{time.metric, idleness.metric});
  CHECK(figures.at_context(time, 0) == Approx(2000));
  CHECK(figures.at_context(idleness, solver.allreduce) == Approx(120));
  CHECK(figures.at_context(find_column(experiment, "REALTIME:mean"), solver.spmv) == Approx(705));
  CHECK(figures.context_presence(solver.spmv, std::nullopt).threads == 2);
  CHECK(std::isnan(figures.at_context(find_column(experiment, "imbalance"), 0)));
  CHECK_FALSE(figures.over_all());
}

TEST_CASE("Ranks that were not measured are named") {
  const SolverSample solver;
  CHECK_THROWS_WITH(locations_of_ranks(solver.sample.experiment(), std::vector<std::int32_t>{1, 9, 10, 11}),
                    Catch::Contains("no rank 9-11"));
}

TEST_CASE("A scope without observers has zeros, and presence says how many threads saw it") {
  const SolverSample solver;
  const database::Contents& experiment = solver.sample.experiment();
  const Figures figures(solver.sample);
  CHECK(figures.at_context(find_column(experiment, "idleness"), solver.spmv) == 0);
  const Presence presence = figures.context_presence(solver.spmv, 0);
  CHECK(presence.observers == 8);
  CHECK(presence.threads == 8);
}

TEST_CASE("The flat view starts at load modules and keeps exact statistics") {
  const SolverSample solver;
  const database::Contents& experiment = solver.sample.experiment();
  const Figures figures(solver.sample);
  Flat flat(figures);
  const std::vector<NodeId> modules = flat.roots();
  REQUIRE(modules.size() == 2);
  CHECK(label(flat.frame(modules[0])) == "cg");
  CHECK(label(flat.frame(modules[1])) == "libmpi.so.40");
  CHECK(flat.value(modules[1], find_column(experiment, "REALTIME:max (E)")) == Approx(265));
  CHECK(flat.value(modules[0], find_column(experiment, "imbalance (I)")) == Approx(1710));
  CHECK(flat.path(flat.children(modules[1]).at(0)).size() == 2);
  CHECK(flat.find("f1") == modules[0]);
  CHECK_FALSE(flat.find("f9999"));
  CHECK_FALSE(flat.find("c1"));
}

}  // namespace culprit::views::testing
