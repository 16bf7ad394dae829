#include "runtime/teams/lock_queue.hpp"

#include <array>
#include <vector>

#include <catch2/catch.hpp>

namespace lock_queue_test {

namespace {

using namespace culprit::runtime;

const int lock = 0;

TEST_CASE("who gives a lock back bears what others waited for it") {
  locks::forget();
  CHECK_FALSE(locks::anybody_waits());
  const auto first = locks::enter(&lock, 1'000);
  const auto second = locks::enter(&lock, 1'500);
  CHECK(locks::anybody_waits());
  CHECK(locks::charge(&lock, 2'000, 1) == 1'000 + 500);
  CHECK(locks::leave(first, 2'010, true) == 10);  // from hand to hand
  CHECK(locks::charge(&lock, 2'400, 1) == 400);   // of the second alone
  CHECK(locks::leave(second, 2'400, true) == 0);
  CHECK_FALSE(locks::anybody_waits());
  CHECK(locks::charge(&lock, 3'000, 1) == 0);
}

TEST_CASE("a waiter that gives up leaves its wait to the holder") {
  locks::forget();
  const auto first = locks::enter(&lock, 100);
  const auto second = locks::enter(&lock, 200);
  CHECK(locks::leave(first, 300, false) == 0);
  CHECK(locks::charge(&lock, 500, 1) == 200 + 300);
  CHECK(locks::leave(second, 600, false) == 100);  // the last: nobody is charged with that
}

TEST_CASE("what all who gave up have waited is not lost") {
  locks::forget();
  const auto first = locks::enter(&lock, 100);
  const auto second = locks::enter(&lock, 200);
  CHECK(locks::leave(first, 300, false) == 0);
  CHECK(locks::leave(second, 600, false) == 200 + 400);
  CHECK(locks::charge(&lock, 700, 1) == 0);
}

TEST_CASE("a waiter learns who gave the lock back while it waited") {
  locks::forget();
  const std::array<char, 3> threads{};
  const auto first = locks::enter(&lock, 100);
  locks::charge(&lock, 150, 1, &threads[0]);
  const auto second = locks::enter(&lock, 200);
  CHECK(locks::releases_since(second).count == 0);
  locks::charge(&lock, 300, 1, &threads[1]);
  locks::charge(&lock, 350, 1, &threads[1]);
  locks::charge(&lock, 400, 1, &threads[2]);
  locks::Releases found = locks::releases_since(second);
  REQUIRE(found.count == 2);
  CHECK((found.of[0].by == &threads[1] && found.of[0].time == 350));
  CHECK((found.of[1].by == &threads[2] && found.of[1].time == 400));
  CHECK(locks::releases_since(first).count == 3);
  // Of more than are kept nobody knows who came before the earliest.
  for (std::uint64_t i = 0; i < locks::Releases::kMost; ++i)
    locks::charge(&lock, 500 + i, 1, &threads[i % threads.size()]);
  found = locks::releases_since(second);
  REQUIRE(found.count == locks::Releases::kMost);
  CHECK((found.of[0].by == nullptr && found.of[0].time == 500));
  CHECK((found.of[1].by == &threads[1] && found.of[1].time == 501));
  static_cast<void>(locks::leave(first, 600, true));
  static_cast<void>(locks::leave(second, 600, true));
}

TEST_CASE("thousands of threads may wait for days") {
  locks::forget();
  constexpr std::uint64_t kDay = 86'400'000'000'000;
  constexpr std::uint64_t kWaiters = 10'000;
  std::vector<locks::Waiter> waiters;
  for (std::uint64_t i = 0; i < kWaiters; ++i) waiters.push_back(locks::enter(&lock, 400 * kDay));
  CHECK(locks::charge(&lock, 400 * kDay + kDay / 30, 1) == kWaiters * (kDay / 30));
  for (const auto& waiter : waiters) locks::leave(waiter, 400 * kDay + kDay / 30, true);
}

TEST_CASE("readers share what a writer waits") {
  locks::forget();
  const auto writer = locks::enter(&lock, 0);
  CHECK(locks::charge(&lock, 900, 3) == 300);
  CHECK(locks::charge(&lock, 1'000, 2) == 350);
  CHECK(locks::charge(&lock, 1'000, 1) == 350);
  CHECK(locks::leave(writer, 1'005, true) == 5);
}

TEST_CASE("locks do not mix, and those that nobody waits for make room") {
  locks::forget();
  std::vector<int> locks_of(20'000);
  for (int round = 0; round < 2; ++round) {
    for (const int& each : locks_of) {
      const auto waiter = locks::enter(&each, 10);
      REQUIRE(waiter.queued);
      CHECK(locks::charge(&each, 20, 1) == 10);
      CHECK(locks::leave(waiter, 20, true) == 0);
    }
  }
  const auto one = locks::enter(&locks_of[0], 10), other = locks::enter(&locks_of[1], 10);
  CHECK(locks::charge(&locks_of[0], 30, 1) == 20);
  CHECK(locks::charge(&locks_of[1], 40, 1) == 30);
  locks::leave(one, 40, true);
  locks::leave(other, 40, true);
}

TEST_CASE("threads that want a lock are counted") {
  locks::forget();
  CHECK(locks::want(&lock) == 0);
  CHECK(locks::want(&lock) == 1);
  locks::unwant(&lock);
  locks::unwant(&lock);
  locks::unwant(&lock);  // it was taken before anybody counted
  CHECK(locks::want(&lock) == 0);
  locks::forget();
}

}  // namespace

}  // namespace lock_queue_test
