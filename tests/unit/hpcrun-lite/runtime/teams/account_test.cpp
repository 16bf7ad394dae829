#include "runtime/teams/account.hpp"

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

namespace account_test {

namespace {

using namespace culprit::runtime;

/// A process whose threads have just begun, at time 0; forgotten at the end.
template <std::size_t Threads>
struct Process {
  std::array<Account, Threads> account{};

  Process() {
    teams::forget();
    teams::activate();
    for (Account& each : account) teams::begin(each, 0);
  }
  ~Process() { teams::forget(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] std::uint64_t caused(std::size_t thread, std::uint64_t time) const {
    return static_cast<std::uint64_t>((teams::caused_up_to(account[thread], time) + (SignedWide{1} << 31)) >>
                                      32);
  }
  [[nodiscard]] std::uint64_t idle(std::uint64_t time) const {
    std::uint64_t sum = 0;
    for (const Account& each : account) sum += teams::idle_up_to(each, time);
    return sum;
  }
  /// What is idle and what is caused, or borne by nobody, less each other.
  [[nodiscard]] std::int64_t unbalanced(std::uint64_t time) const {
    SignedWide sum = 0;
    for (const Account& each : account) sum += teams::caused_up_to(each, time);
    return static_cast<std::int64_t>(sum >> 32) + static_cast<std::int64_t>(teams::borne_by_nobody(time)) -
           static_cast<std::int64_t>(idle(time));
  }
};

TEST_CASE("working threads share what others idle") {
  Process<4> process;
  teams::turn(process.account[3], Activity::idles, 100);
  CHECK(teams::rate(process.account[0]) == (std::int64_t{1} << 32) / 3);
  CHECK(teams::rate(process.account[3]) == 0);
  teams::turn(process.account[2], Activity::idles, 400);
  teams::turn(process.account[1], Activity::idles, 500);
  CHECK(teams::rate(process.account[0]) == std::int64_t{3} << 32);
  for (const std::size_t thread : {1, 2, 3}) teams::turn(process.account[thread], Activity::works, 1'500);
  // 300 shared by three, then 100 · 2 by two, then 1000 · 3 by one.
  CHECK(process.caused(0, 2'000) == 100 + 100 + 3'000);
  CHECK(process.caused(1, 2'000) == 100 + 100);
  CHECK(process.caused(2, 2'000) == 100);
  CHECK(process.caused(3, 2'000) == 0);
  CHECK(process.idle(2'000) == 1'400 + 1'100 + 1'000);
  CHECK(std::abs(process.unbalanced(2'000)) <= 1);
}

TEST_CASE("where nobody works, threads that wait outside bear it, else nobody") {
  Process<3> process;
  teams::turn(process.account[1], Activity::idles, 100);
  teams::turn(process.account[2], Activity::idles, 100);
  teams::turn(process.account[0], Activity::outside, 200);
  CHECK(teams::rate(process.account[0]) == std::int64_t{2} << 32);
  teams::turn(process.account[0], Activity::idles, 500);
  CHECK(teams::borne_by_nobody(700) == 600);
  teams::turn(process.account[0], Activity::works, 700);
  CHECK(process.caused(0, 800) == 200 + 600 + 200);
  CHECK(teams::borne_by_nobody(800) == 600);
  CHECK(std::abs(process.unbalanced(800)) <= 1);
}

TEST_CASE("a thread that works is to blame before one that waits in MPI") {
  Process<3> process;
  teams::turn(process.account[0], Activity::outside, 0);
  teams::turn(process.account[2], Activity::idles, 0);
  CHECK(teams::rate(process.account[0]) == 0);
  CHECK(process.caused(1, 1'000) == 1'000);
  CHECK(process.caused(0, 1'000) == 0);
}

TEST_CASE("a thread that waits for a lock neither idles nor works") {
  Process<3> process;
  teams::turn(process.account[1], Activity::for_lock, 0);
  teams::turn(process.account[2], Activity::idles, 0);
  CHECK(process.caused(0, 1'000) == 1'000);
  CHECK(process.idle(1'000) == 1'000);
}

TEST_CASE("who idles in a team is the fault of that team") {
  Process<4> process;
  auto& [outer, master, worker, other] = process.account;
  TeamRef team;
  teams::turn(master, Activity::works, 100);
  REQUIRE(teams::begin_team(master, team));
  teams::turn(worker, Activity::idles, 50);
  teams::enter(worker, team, 100);
  teams::turn(worker, Activity::idles, 200);
  CHECK(teams::rate(master) == std::int64_t{1} << 32);
  CHECK(teams::rate(outer) == 0);
  // The team has nobody left who works: those around it bear it.
  teams::turn(master, Activity::idles, 300);
  CHECK(teams::rate(outer) == std::int64_t{1} << 32);
  CHECK(std::abs(process.unbalanced(350)) <= 1);
  teams::end_team(master, 400);
  CHECK(teams::rate(outer) == (std::int64_t{1} << 32) / 3);
  CHECK(teams::rate(master) == (std::int64_t{1} << 32) / 3);
  teams::turn(worker, Activity::works, 700);
  CHECK(teams::rate(outer) == 0);
  CHECK(process.caused(1, 800) == 17 + 100 + 100);  // 50 / 3 of the worker before the team
  CHECK(std::abs(process.unbalanced(800)) <= 1);
}

TEST_CASE("a thread that idles where a team was begins in another") {
  Process<3> process;
  auto& [master, worker, other] = process.account;
  for (std::uint64_t time = 0; time < 100'000; time += 1'000) {
    TeamRef team;
    REQUIRE(teams::begin_team(master, team));
    teams::enter(worker, team, time + 10);
    teams::turn(worker, Activity::idles, time + 300);
    teams::turn(master, Activity::idles, time + 500);
    teams::end_team(master, time + 510);
  }
  CHECK(std::abs(process.unbalanced(100'000)) <= 100);
  CHECK(teams::idle_up_to(worker, 100'000) == 99 * 710 + 700);
}

TEST_CASE("who enters a team takes over what idles there") {
  Process<3> process;
  auto& [master, worker, other] = process.account;
  TeamRef team;
  REQUIRE(teams::begin_team(master, team));
  teams::turn(master, Activity::idles, 100);
  CHECK(teams::rate(other) == (std::int64_t{1} << 32) / 2);
  teams::enter(worker, team, 200);
  CHECK(teams::rate(other) == 0);
  CHECK(teams::rate(worker) == std::int64_t{1} << 32);
  teams::turn(worker, Activity::idles, 300);
  teams::end_team(master, 300);
  CHECK(process.caused(2, 300) == 50);
  CHECK(std::abs(process.unbalanced(400)) <= 1);
}

TEST_CASE("a thread that is not counted stays so whatever ends") {
  Process<1> process;
  Account forked{};
  teams::turn(forked, Activity::works, 10);
  teams::end_team(forked, 20);
  CHECK(forked.activity == Activity::none);
  teams::begin(forked, 30);
  CHECK(forked.activity == Activity::works);
  teams::turn(process.account[0], Activity::idles, 40);
  CHECK(teams::rate(forked) == std::int64_t{1} << 32);
  teams::end(forked, 50);
}

TEST_CASE("teams within teams, more than are told apart") {
  Process<2> process;
  auto& [master, other] = process.account;
  int made = 0;
  for (TeamRef team; teams::begin_team(master, team); ++made) {
  }
  CHECK(made == TeamPath::kMost - 1);
  for (int i = 0; i < made; ++i) teams::end_team(master, 1'000 + i);
  teams::end_team(master, 2'000);  // it is in none
  teams::turn(other, Activity::idles, 2'000);
  CHECK(process.caused(0, 3'000) == 1'000);
}

TEST_CASE("a thread that idles on through many teams counts in none of them") {
  for (const int others : {1, 127, 128, 255, 256, 300}) {
    Process<3> process;
    auto& [master, worker, other] = process.account;
    std::uint64_t time = 0;
    const auto run = [&](bool with_worker) {
      TeamRef team;
      if (!teams::begin_team(master, team)) FAIL("there is no place for a team");
      if (with_worker) {
        teams::enter(worker, team, time + 10);
        teams::turn(worker, Activity::idles, time + 20);
      }
      teams::end_team(master, time += 30);
    };
    run(true);
    for (int i = 0; i < others; ++i) run(false);
    run(true);
    for (int i = 0; i < 300'000; ++i) run(false);  // in all places, as often as it takes that they come again
    CAPTURE(others);
    CHECK(teams::rate(master) == (std::int64_t{1} << 32) / 2);
    CHECK(teams::idle_up_to(worker, time) == time - 20 - 10);
    CHECK(std::abs(process.unbalanced(time)) <= 300);
  }
}

TEST_CASE("threads that turn at once add up all the same") {
  constexpr std::size_t kThreads = 6;
  Process<kThreads> process;
  const auto now = [] {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  };
  const std::uint64_t begin = now();
  const auto elapsed = [&] { return now() - begin; };
  // Between reading the clock and the change a thread may be without a processor, and others change the
  // counts meanwhile: what it then adds is for the counts as they are, not as they were. So long at most:
  std::atomic<std::uint64_t> late{0};
  constexpr std::uint64_t kLostProcessor = 20'000;
  const auto at_present = [&](auto change) {
    const std::uint64_t time = elapsed();
    change(time);
    if (const std::uint64_t took = elapsed() - time; took > kLostProcessor) late += took;
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      std::mt19937 random(static_cast<unsigned>(i));
      for (int turn = 0; turn < 20'000; ++turn) {
        constexpr std::array kAll = {Activity::works, Activity::idles, Activity::outside, Activity::for_lock};
        Account& own = process.account[i];
        at_present([&](std::uint64_t time) { teams::turn(own, kAll.at(random() % 4), time); });
        TeamRef team;
        if (own.activity == Activity::works && random() % 4 == 0 && teams::begin_team(own, team))
          at_present([&](std::uint64_t time) { teams::end_team(own, time); });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::uint64_t end = elapsed();
  CHECK(std::abs(process.unbalanced(end)) <=
        static_cast<std::int64_t>(process.idle(end) / 50 + kThreads * late));
}

TEST_CASE("a team whose threads come and meet at once adds up") {
  constexpr std::size_t kThreads = 4;
  const auto now = [] {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  };
  for (int round = 0; round < 50; ++round) {
    Process<kThreads> process;
    const std::uint64_t begin = now();
    const auto elapsed = [&] { return now() - begin; };
    TeamRef team;
    REQUIRE(teams::begin_team(process.account[0], team));
    std::barrier meeting(static_cast<std::ptrdiff_t>(kThreads));
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        Account& own = process.account[i];
        if (i != 0) teams::enter(own, team, elapsed());
        for (int turn = 0; turn < 20; ++turn) {
          teams::turn(own, Activity::idles, elapsed());
          meeting.arrive_and_wait();
          if (turn < 19) teams::turn(own, Activity::works, elapsed());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    teams::end_team(process.account[0], elapsed());
    for (Account& each : process.account) teams::turn(each, Activity::works, elapsed());
    CHECK(teams::rate(process.account[0]) == 0);  // nobody is left behind anywhere
  }
}

}  // namespace

}  // namespace account_test
