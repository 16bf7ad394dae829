#include "views/column.hpp"

#include "views/figures.hpp"
#include "views/solver_sample.hpp"

#include <cmath>

#include <catch2/catch.hpp>

namespace culprit::views::testing {

TEST_CASE("Columns are found whatever their case and carry the database's spelling and unit") {
  const SolverSample solver;
  const database::Contents& experiment = solver.sample.experiment();
  CHECK(find_column(experiment, "realtime").title == "REALTIME:sum (I)");
  CHECK(find_column(experiment, "realtime").unit == "s");
  CHECK(find_column(experiment, "samples").unit == "count");
  CHECK(find_column(experiment, "Imbalance (e)").blame);
  CHECK(find_column(experiment, "REALTIME:cv").unit == "ratio");
  CHECK(find_column(experiment, "REALTIME:count").unit == "threads");
}

TEST_CASE("Statistics are per role: the main threads' unless another role is named") {
  const WorkersSample workers;
  const database::Contents& experiment = workers.sample.experiment();
  const Figures figures(workers.sample);
  CHECK_FALSE(find_column(experiment, "REALTIME:sum").role);
  CHECK(find_column(experiment, "REALTIME:mean").role == 0);
  CHECK(total(figures, find_column(experiment, "REALTIME:sum")) == Approx(80));
  CHECK(total(figures, find_column(experiment, "REALTIME:mean")) == Approx(10));
  CHECK(total(figures, find_column(experiment, "idleness:sum")) == Approx(20));
  CHECK(total(figures, find_column(experiment, "idleness:mean")) == 0);
  const std::uint32_t role = find_role(experiment, "worker_main");
  CHECK(total(figures, find_column(experiment, "idleness:mean", role)) == Approx(5));
  CHECK(total(figures, find_column(experiment, "imbalance:mean", role)) == Approx(5));
}

TEST_CASE("What the database does not have is refused, naming what there is") {
  const SolverSample solver;
  const database::Contents& experiment = solver.sample.experiment();
  CHECK_THROWS_WITH(find_column(experiment, "cycles"),
                    Catch::Contains("REALTIME") && Catch::Contains("imbalance"));
  CHECK_THROWS_AS(find_column(experiment, "REALTIME (Q)"), UnknownMetric);
  CHECK_THROWS_WITH(find_role(experiment, "io"), Catch::Contains("main"));
  CHECK_THROWS_WITH(find_column(experiment, "REALTIM (E)"), Catch::Contains("did you mean REALTIME? "));
  CHECK_THROWS_WITH(find_column(experiment, "idleness:maen"),
                    Catch::Contains("did you mean idleness:mean? "));
  CHECK_THROWS_WITH(find_role(experiment, "mian"), Catch::Contains("did you mean main? "));
}

TEST_CASE("Blame has no dispersion, and the minimum of idleness counts every thread") {
  const SolverSample solver;
  const database::Contents& experiment = solver.sample.experiment();
  const Figures figures(solver.sample);
  CHECK(std::isnan(total(figures, find_column(experiment, "imbalance:cv"))));
  CHECK(total(figures, find_column(experiment, "imbalance:max")) == Approx(265));
  CHECK(find_column(experiment, "idleness:min").min_over_all);
  CHECK_FALSE(find_column(experiment, "REALTIME:min").min_over_all);
}

}  // namespace culprit::views::testing
