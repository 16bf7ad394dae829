// What it costs to count who idles because of whom (docs/figures.md, Threads of a process): the accounts
// alone, by one thread whose cache lines nobody else wants. The least of nine rounds of a million.
#include "runtime/system/clock.hpp"
#include "runtime/system/tick_clock.hpp"
#include "runtime/teams/account.hpp"
#include "runtime/teams/lock_queue.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace {

using namespace culprit::runtime;

template <typename Act>
void measure(const char* what, Act act) {
  constexpr std::uint64_t kTimes = 1'000'000;
  double least = 1e9;
  for (int round = 0; round < 9; ++round) {
    const std::uint64_t begin = now();
    for (std::uint64_t i = 0; i < kTimes; ++i) act(i);
    least = std::min(least, static_cast<double>(now() - begin) / kTimes);
  }
  std::printf("%-56s %6.1f ns\n", what, least);
}

template <typename Value>
void keep(Value value) {
  __asm__ volatile("" : : "r"(value));
}

void calibrate() {
  tick_clock.calibrate();
  for (const std::uint64_t begin = now(); now() - begin < kSecond / 20;) {
  }
  tick_clock.calibrate();
}

Activity turn_of(std::uint64_t i) {
  return i % 2 == 0 ? Activity::idles : Activity::works;
}

}  // namespace

int main() {
  Account accounts[4]{};
  auto& [first, second, third, fourth] = accounts;
  teams::activate();
  for (Account& each : accounts) teams::begin(each, 0);
  measure("CLOCK_MONOTONIC", [](std::uint64_t) { keep(now()); });
  calibrate();
  measure("the clock of accounts", [](std::uint64_t) { keep(tick_clock.read()); });
  measure("a thread turns, while others work", [&](std::uint64_t i) { teams::turn(first, turn_of(i), i); });
  measure("a sample looks at the ratio, nobody idles", [&](std::uint64_t) { keep(teams::rate(second)); });
  teams::turn(fourth, Activity::idles, 0);
  measure("a sample looks at the ratio", [&](std::uint64_t) { keep(teams::rate(second)); });
  measure("a team is made and ends", [&](std::uint64_t i) {
    TeamRef team;
    if (!teams::begin_team(second, team)) return;
    teams::end_team(second, i);
  });
  TeamRef team;
  teams::begin_team(second, team);
  teams::enter(third, team, 0);
  measure("a thread of a team turns, while others work",
          [&](std::uint64_t i) { teams::turn(third, turn_of(i), i); });
  teams::turn(third, Activity::works, 0);
  teams::end_team(second, 0);
  teams::turn(first, Activity::idles, 0);
  teams::turn(third, Activity::idles, 0);
  measure("the last thread that works turns", [&](std::uint64_t i) { teams::turn(second, turn_of(i), i); });
  const int lock = 0;
  measure("a lock of OpenMP is taken and given back", [&](std::uint64_t) {
    keep(locks::want(&lock));
    locks::unwant(&lock);
  });
  measure("a lock is given back, nobody waits for any", [](std::uint64_t) { keep(locks::anybody_waits()); });
  measure("a wait for a lock, and that it is given back", [&](std::uint64_t i) {
    const locks::Waiter waiter = locks::enter(&lock, i);
    keep(locks::charge(&lock, i + 1, 1));
    keep(locks::leave(waiter, i + 2, true));
  });
}
