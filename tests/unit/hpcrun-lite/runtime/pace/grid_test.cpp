#include "runtime/pace/grid.hpp"

#include <cstdint>
#include <random>

#include <catch2/catch.hpp>

namespace grid_test {

using culprit::runtime::Grid;

namespace {

constexpr std::uint64_t kStart = 1'000'000'007;
constexpr std::uint64_t kPeriod = 5'000'000;

Grid make_grid(std::uint64_t seed) {
  Grid grid;
  grid.start(kStart, kPeriod, seed);
  return grid;
}

}  // namespace

TEST_CASE("a punctual handler takes one sample of weight one per cell") {
  Grid grid = make_grid(1);
  for (std::uint64_t cell = 0; cell < 1000; ++cell) {
    const std::uint64_t tick = grid.next();
    REQUIRE(tick >= kStart + cell * kPeriod);
    REQUIRE(tick < kStart + (cell + 1) * kPeriod);
    REQUIRE(grid.pass(tick) == 1);
  }
}

TEST_CASE("weights add up to the time that passed, however samples are delayed") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Grid grid = make_grid(seed);
    std::mt19937_64 random(seed);
    std::uint64_t now = kStart;
    std::uint64_t sum = 0;
    for (int i = 0; i < 500; ++i) {
      // Mostly on time, sometimes after a long wait, sometimes too early.
      now = std::max(now, grid.next()) + random() % (i % 7 == 0 ? 40 * kPeriod : kPeriod / 50);
      sum += grid.pass(now);
      const std::uint64_t cells = (now - kStart) / kPeriod;
      REQUIRE(sum >= cells);
      REQUIRE(sum <= cells + 1);
    }
  }
}

TEST_CASE("nothing is due before the next tick") {
  Grid grid = make_grid(3);
  const std::uint64_t tick = grid.next();
  CHECK(grid.pass(tick - 1) == 0);
  CHECK(grid.next() == tick);
  CHECK(grid.pass(tick) == 1);
}

TEST_CASE("ticks that were put back come with the next sample") {
  Grid grid = make_grid(4);
  const std::uint64_t weight = grid.pass(grid.next());
  grid.put_back(weight);
  CHECK(grid.pass(grid.next()) == 2);
}

TEST_CASE("a long wait is charged without bias") {
  // Over many waits of two and a half periods the mean weight is two and a half, not rounded up.
  std::uint64_t sum = 0;
  constexpr std::uint64_t kWaits = 20'000;
  for (std::uint64_t seed = 0; seed < kWaits; ++seed) {
    Grid grid = make_grid(seed);
    sum += grid.pass(kStart + 5 * kPeriod / 2);
  }
  CHECK(static_cast<double>(sum) / kWaits == Approx(2.5).margin(0.02));
}

TEST_CASE("ticks are spread evenly over their cells") {
  Grid grid = make_grid(5);
  double sum = 0;
  constexpr int kTicks = 20'000;
  for (std::uint64_t cell = 0; cell < kTicks; ++cell) {
    sum += static_cast<double>(grid.next() - kStart - cell * kPeriod) / kPeriod;
    grid.pass(grid.next());
  }
  CHECK(sum / kTicks == Approx(0.5).margin(0.01));
}

TEST_CASE("weights add up to the time that passed when the rate is halved on the way") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Grid grid = make_grid(seed);
    std::mt19937_64 random(seed);
    std::uint64_t now = kStart;
    std::uint64_t sum = 0;
    std::uint64_t width = 1;  // in periods
    std::uint32_t halvings = 0;
    for (int i = 0; i < 700; ++i) {
      now = std::max(now, grid.next()) + random() % (i % 7 == 0 ? 40 * kPeriod : kPeriod / 50);
      const std::uint64_t weight = grid.pass(now);
      REQUIRE(weight % width == 0);
      sum += weight;
      const double periods = static_cast<double>(now - kStart) / kPeriod;
      REQUIRE(static_cast<double>(sum) > periods - static_cast<double>(width));
      REQUIRE(static_cast<double>(sum) < periods + static_cast<double>(width));
      REQUIRE(grid.period() == kPeriod);
      if (i % 100 != 99) continue;
      grid.set_halvings(++halvings);
      width *= 2;
      REQUIRE(grid.pass(grid.next() - 1) == 0);
    }
    CHECK(width == 128);
  }
}

TEST_CASE("halving the rate halves the number of samples") {
  Grid grid = make_grid(6);
  grid.set_halvings(2);
  for (std::uint64_t cell = 0; cell < 1000; ++cell) {
    REQUIRE(grid.next() >= kStart + cell * 4 * kPeriod);
    REQUIRE(grid.next() < kStart + (cell + 1) * 4 * kPeriod);
    REQUIRE(grid.pass(grid.next()) == 4);
  }
}

}  // namespace grid_test
