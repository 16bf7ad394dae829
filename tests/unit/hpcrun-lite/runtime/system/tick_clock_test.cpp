#include "runtime/system/tick_clock.hpp"

#include <chrono>
#include <thread>

#include <catch2/catch.hpp>

namespace tick_clock_test {

namespace {

using namespace culprit::runtime;

/// Whether a reading lies between two of the real clock, but for what one of them is uncertain by.
void check_reading(const TickClock& clock) {
  constexpr std::uint64_t kNoise = 20'000;  // a host may take the processor between two readings of a pair
  const std::uint64_t before = now();
  const std::uint64_t here = clock.read();
  const std::uint64_t after = now();
  CHECK(here + kNoise >= before);
  CHECK(here <= after + kNoise);
}

TEST_CASE("the clock of ticks is the monotonic clock, calibrated or not") {
  TickClock clock;
  check_reading(clock);
  for (int i = 0; i < 4; ++i) {
    clock.calibrate();
    check_reading(clock);
    clock.calibrate();  // at once again
    check_reading(clock);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    check_reading(clock);
  }
  clock.forget();
  check_reading(clock);
}

TEST_CASE("the clock of ticks goes on while it is calibrated") {
  TickClock clock;
  std::atomic<bool> over{false};
  std::thread calibrating([&] {
    while (!over) {
      clock.calibrate();
      std::this_thread::sleep_for(std::chrono::milliseconds(21));
    }
  });
  const std::uint64_t end = now() + kSecond / 4;
  std::uint64_t apart = 0;
  for (std::uint64_t last = now(), here = last; last < end; last = here) {
    here = clock.read();
    if (here < last && last - here > apart) apart = last - here;  // one calibration to the next
  }
  over = true;
  calibrating.join();
  CHECK(apart < 20'000);
}

}  // namespace

}  // namespace tick_clock_test
