#include "views/column.hpp"

#include <catch2/catch.hpp>

namespace culprit::views {

TEST_CASE("Metric names are read forgivingly and written in one form") {
  const auto written = [](std::string_view text) { return to_string(parse_metric_name(text).value()); };
  CHECK(written("REALTIME:mean (I)") == "REALTIME:mean (I)");
  CHECK(written("REALTIME") == "REALTIME:sum (I)");
  CHECK(written("  idleness:CV(e) ") == "idleness:cv (E)");
  CHECK(written("imbalance (E)") == "imbalance:sum (E)");
  CHECK(written("perf::TASK-CLOCK") == "perf::TASK-CLOCK:sum (I)");
  CHECK(written("perf::TASK-CLOCK:max ( e )") == "perf::TASK-CLOCK:max (E)");
}

TEST_CASE("What cannot be a metric name is refused") {
  CHECK_FALSE(parse_metric_name(""));
  CHECK_FALSE(parse_metric_name("   "));
  CHECK_FALSE(parse_metric_name("(I)"));
  CHECK_FALSE(parse_metric_name("REALTIME (X)"));
  CHECK_FALSE(parse_metric_name("REALTIME I)"));
  CHECK_FALSE(parse_metric_name(":sum"));
}

}  // namespace culprit::views
