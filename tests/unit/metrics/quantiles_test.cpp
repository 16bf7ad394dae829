#include "metrics/quantiles.hpp"

#include <catch2/catch.hpp>

using namespace culprit::metrics;

// Compared as numbers are that must not differ between processors: exactly.
TEST_CASE("quantiles are those of the tables", "[quantiles]") {
  CHECK(normal_quantile(0.5) == 0);
  CHECK(normal_quantile(0.975) == 1.95996404F);
  CHECK(normal_quantile(1 - 0.01 / 2000) == 4.41717339F);
  CHECK(chi_squared_quantile(1, 0.95) == 3.8414588F);
  CHECK(chi_squared_quantile(99, 0.99) == 134.641617F);
}
