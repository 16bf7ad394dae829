#include "follow/iterations.hpp"

#include <vector>

#include <catch2/catch.hpp>

using namespace culprit::follow;

TEST_CASE("iterations that the program marks are counted over the last minute") {
  Iterations iterations;
  iterations.look(100, 50, {});
  CHECK_FALSE(iterations.rate());
  iterations.look(102, 54, {});
  REQUIRE(iterations.rate());
  CHECK(iterations.rate()->per_minute == Approx(120));
  CHECK_FALSE(iterations.rate()->inferred);
  for (int i = 1; i <= 100; ++i) iterations.look(102 + i, 54 + static_cast<std::uint64_t>(i), {});
  CHECK(iterations.rate()->per_minute == Approx(60));  // what was before is forgotten
}

TEST_CASE("without marks the outermost call path that repeats stands for the iterations") {
  Iterations iterations;
  const auto look = [&](double time, std::uint64_t start_up, std::uint64_t outer, std::uint64_t inner) {
    const std::vector<CountedCalls> calls = {{.node = 1, .spot = 1, .depth = 2, .calls = start_up},
                                             {.node = 2, .spot = 2, .depth = 2, .calls = outer},
                                             {.node = 3, .spot = 3, .depth = 4, .calls = inner}};
    iterations.look(time, 0, calls);
  };
  look(0, 7, 0, 0);
  look(10, 9, 5, 50);
  CHECK_FALSE(iterations.rate());  // nothing is known to repeat yet
  look(20, 9, 10, 100);
  REQUIRE(iterations.rate());
  CHECK(iterations.rate()->inferred);
  CHECK(iterations.rate()->spot == 2);
  CHECK(iterations.rate()->per_minute == Approx(30));
}

TEST_CASE("what does not repeat is no iteration") {
  Iterations iterations;
  const std::vector<CountedCalls> calls = {{.node = 1, .spot = 1, .depth = 2, .calls = 5}};
  for (int i = 0; i < 5; ++i) iterations.look(i, 0, calls);
  CHECK_FALSE(iterations.rate());
  CHECK_FALSE(Iterations().rate());
}
