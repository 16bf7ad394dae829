#include "runtime/pace/brake.hpp"

#include <cstdint>

#include <catch2/catch.hpp>

namespace brake_test {

using culprit::runtime::Brake;

namespace {

constexpr std::uint64_t kPeriod = 5'000'000;
constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kSignal = 20'000;
constexpr std::uint32_t kMost = 6;

/// A process whose threads are sampled at the rate that the brake allows.
struct Process {
  Brake brake;
  std::uint64_t now = kSecond;

  explicit Process(std::uint64_t processors) { brake.start(now, kPeriod, processors, kSignal, kMost); }

  void run(std::uint64_t threads, std::uint64_t ns) {
    for (const std::uint64_t end = now + ns; now < end;) {
      now += (kPeriod << brake.halvings()) / threads;
      if (brake.count()) brake.judge(now);
    }
  }
};

/// Of one processor, with all runs at `kSignal`.
double cost(std::uint64_t threads, std::uint32_t halvings) {
  return static_cast<double>(threads * kSignal) / static_cast<double>(kPeriod << halvings);
}

}  // namespace

TEST_CASE("a process is sampled at its rate where that costs less than its share") {
  Process process(1000);
  process.run(12, 10 * kSecond);  // 4.8 % of one processor
  CHECK(process.brake.halvings() == 0);
}

TEST_CASE("the rate is halved until sampling costs less than its share, and no further") {
  for (const std::uint64_t threads : {13U, 100U, 500U}) {
    Process process(2000);
    process.run(threads, 5 * kSecond);
    const std::uint32_t halvings = process.brake.halvings();
    CHECK(cost(threads, halvings) <= 2.0 / Brake::kShare);
    if (halvings > 0) CHECK(cost(threads, halvings - 1) > 2.0 / Brake::kShare);
  }
}

TEST_CASE("no rate is halved more often than the least rate allows") {
  Process process(1000);
  process.run(100'000, 5 * kSecond);
  CHECK(process.brake.halvings() == kMost);
}

TEST_CASE("where runs were timed they cost what was found") {
  Process process(1000);
  for (std::uint64_t i = 0; i < Brake::kTrusted; ++i) process.brake.time(100'000);  // with its signal
  process.run(12, 2 * kSecond);                                                     // 24 % of one processor
  CHECK(process.brake.halvings() == 3);
}

TEST_CASE("one run that took long does not slow a process down, neither the first nor a later one") {
  Process process(1000);
  process.brake.time(50 * kSignal);
  process.run(12, kSecond);
  CHECK(process.brake.halvings() == 0);
  for (std::uint64_t i = 0; i < Brake::kTrusted; ++i) process.brake.time(kSignal);
  process.run(12, kSecond);
  CHECK(process.brake.halvings() == 0);
}

TEST_CASE("once there are few threads the rate comes back, and stays") {
  Process process(1000);
  process.run(400, 2 * kSecond);
  REQUIRE(process.brake.halvings() == 5);
  process.run(2, 60 * kSecond);
  CHECK(process.brake.halvings() == 0);
  process.run(10, 60 * kSecond);
  CHECK(process.brake.halvings() == 0);
}

}  // namespace brake_test
