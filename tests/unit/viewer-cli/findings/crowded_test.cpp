#include "findings/crowded.hpp"

#include "findings/phrases.hpp"
#include "text/prose.hpp"
#include "views/solver_sample.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

namespace culprit::viewer::testing::crowded_test {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

/// Ran and was ready to run in ten seconds of life, where it may run on one processor.
database::ScheduledThread on(std::uint16_t processor, std::uint32_t location, std::uint64_t ran_s,
                             std::uint64_t ready_s) {
  database::ScheduledThread thread{.location = location,
                                   .online = 2,
                                   .ran_ns = ran_s * kSecond,
                                   .runnable_ns = ready_s * kSecond,
                                   .lived_ns = 10 * kSecond,
                                   .sampled_ns = 10 * kSecond};
  thread.processors.add(processor);
  return thread;
}

}  // namespace

TEST_CASE("threads that want more processors than they are bound to are a crowd") {
  views::testing::SolverSample solver;
  database::Experiment& e = solver.sample.build();
  e.machine.threads = {on(0, 0, 5, 3), on(0, 1, 4, 2), on(1, 2, 6, 3), on(1, 3, 1, 0)};
  const views::Figures figures(solver.sample);
  const std::vector<Crowd> crowds = find_crowds(figures.experiment());
  REQUIRE(crowds.size() == 1);  // on the other processor one thread in all wants to run
  CHECK(crowds[0].locations == std::vector<std::uint32_t>{0, 1});
  CHECK(crowds[0].processors == 1);
  CHECK(crowds[0].bound);
  CHECK(crowds[0].wanted == Approx(1.4));
  CHECK(crowds[0].lacked_s == Approx(5));
  CHECK(wrap(crowd_phrase(figures.experiment(), crowds[0]), 1000)
            .ends_with(" share 1 processor, and 1.4 threads want one at a time"));
}

TEST_CASE("processor time is free where no thread works in it, and unknown with the processors") {
  const auto working = [](std::uint16_t processor, std::uint32_t location, std::uint64_t work_s) {
    database::ScheduledThread thread = on(processor, location, 10, 0);  // it spins in its waits
    thread.work_cpu_ns = work_s * kSecond;
    return thread;
  };
  const auto free_s = [](const std::vector<database::ScheduledThread>& threads) {
    views::testing::SolverSample solver;
    solver.sample.build().machine.threads = threads;
    return free_processors_s(views::Figures(solver.sample).experiment());
  };
  database::ScheduledThread anywhere = working(0, 1, 4);
  CHECK(free_s({working(0, 0, 9), anywhere, working(1, 2, 7)}) == Approx(0 + 3));
  anywhere.processors = {};
  anywhere.online = 0;
  CHECK(std::isinf(free_s({working(0, 0, 9), anywhere})));
  CHECK(std::isinf(free_s({})));
}

TEST_CASE("threads whose processors overlap share all of them") {
  views::testing::SolverSample solver;
  database::Experiment& e = solver.sample.build();
  database::ScheduledThread both = on(0, 2, 5, 5);
  both.processors.add(1);
  e.machine.threads = {on(0, 0, 5, 5), on(1, 1, 5, 5), both};
  const views::Figures figures(solver.sample);
  const std::vector<Crowd> crowds = find_crowds(figures.experiment());
  REQUIRE(crowds.size() == 1);
  CHECK(crowds[0].processors == 2);
  CHECK(crowds[0].wanted == Approx(3));
  CHECK_FALSE(crowds[0].bound);
}

}  // namespace culprit::viewer::testing::crowded_test
