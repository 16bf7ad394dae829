#include "findings/crowded.hpp"

#include "findings/phrases.hpp"
#include "text/prose.hpp"
#include "views/solver_sample.hpp"

#include <cstdint>
#include <string>
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

TEST_CASE("waiting counts as far as processors of the same set were free for it") {
  views::testing::SolverSample solver;
  database::Experiment& e = solver.sample.build();
  const auto lost_s = [&](const std::vector<database::ScheduledThread>& threads) {
    solver.sample.build().machine.threads = threads;
    const std::vector<std::uint64_t> waited_ns(4, 5 * kSecond);
    return waited_while_free_s(views::Figures(solver.sample).experiment(), waited_ns);
  };
  const auto working = [](std::uint16_t processor, std::uint32_t location, std::uint64_t work_s) {
    database::ScheduledThread thread = on(processor, location, 10, 0);  // it spins in its waits
    thread.work_cpu_ns = work_s * kSecond;
    return thread;
  };
  SECTION("a set without a free processor is not excused by another") {
    CHECK(lost_s({working(0, 0, 5), working(0, 1, 5), working(1, 2, 0), working(2, 3, 0)}) == Approx(5 + 5));
    CHECK(lost_s({working(0, 0, 5), working(0, 1, 2), working(1, 2, 1), working(1, 3, 0)}) == Approx(3 + 9));
  }
  SECTION("nor a host by another") {
    e.locations[2].host = e.locations[3].host = "other";
    CHECK(lost_s({working(0, 0, 5), working(0, 1, 5), working(0, 2, 0), working(1, 3, 0)}) == Approx(5 + 5));
  }
  SECTION("all counts where the processors are not known") {
    database::ScheduledThread unknown = working(0, 2, 9);
    unknown.processors = {};
    unknown.online = 0;
    CHECK(lost_s({working(0, 0, 5), working(0, 1, 5), unknown}) == Approx(5 + 5));
    CHECK(lost_s({}) == Approx(20));
  }
  SECTION("a thread of which the kernel said nothing is where its process is") {
    for (std::uint32_t thread = 1; thread < 4; ++thread) e.locations[thread].thread = thread;
    CHECK(lost_s({working(0, 0, 2)}) == Approx(8));
  }
}

TEST_CASE("ranks share processors where more are bound to a set than it has, whatever others have") {
  views::testing::SolverSample solver;
  database::Experiment& e = solver.sample.build();
  database::ScheduledThread many = on(1, 3, 5, 0);
  for (std::uint16_t processor = 2; processor < 8; ++processor) many.processors.add(processor);
  e.machine.threads = {on(0, 0, 5, 3), on(0, 1, 4, 2), on(0, 2, 6, 3), many};
  const views::Figures figures(solver.sample);
  const std::string host(figures.experiment().locations[0].host);
  CHECK(wrap(crowded_hosts_phrase(figures.experiment()), 1000) ==
        "ranks 0-2 share 1 processor on host " + host);
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
