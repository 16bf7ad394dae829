#include "waits/clocks/causal_order.hpp"

#include <array>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace clock_correction_test {

using culprit::measurement::trace::ClockPair;
using culprit::waits::ClockCorrection;

namespace {

ClockPair pair(std::uint64_t own, std::uint64_t reference) {
  return {
      .monotonic_ns = own, .realtime_ns = 0, .reference = 0, .reference_ns = reference, .round_trip_ns = 100};
}

}  // namespace

TEST_CASE("a clock with an offset and a drift is brought to the reference's") {
  REQUIRE(rc::check("within a nanosecond", [] {
    // The reference clock shows t, this one offset + t · (1 + drift).
    const auto offset = *rc::gen::inRange<std::int64_t>(-500'000'000'000, 500'000'000'000);
    const auto drift_ppb = *rc::gen::inRange<std::int64_t>(-100'000, 100'000);
    const auto show = [&](std::int64_t t) {
      return static_cast<std::uint64_t>(1'000'000'000'000 + offset + t + t * drift_ppb / 1'000'000'000);
    };
    const std::int64_t end = *rc::gen::inRange<std::int64_t>(1'000'000'000, 100'000'000'000);
    const std::array pairs = {pair(show(end), static_cast<std::uint64_t>(end)), pair(show(0), 0)};
    const ClockCorrection correct(pairs);
    const auto t = *rc::gen::inRange<std::int64_t>(0, 2 * end);
    const auto found = static_cast<std::int64_t>(correct(show(t)));
    RC_ASSERT(std::abs(found - t) <= 3);
  }));
}

TEST_CASE("one comparison gives an offset, none leaves the clock as it is") {
  const std::array once = {pair(1000, 500)};
  CHECK(ClockCorrection(once)(1700) == 1200);
  CHECK(ClockCorrection(once)(900) == 400);
  CHECK(ClockCorrection(once)(100) == 0);
  const std::array none = {ClockPair{.monotonic_ns = 5, .realtime_ns = 9}};
  CHECK(ClockCorrection(none)(1700) == 1700);
}

TEST_CASE("a clock without a comparison is moved as a whole, either way") {
  constexpr std::uint64_t kNow = 10'000'000'000'000;
  CHECK(ClockCorrection::later_by(7'200)(kNow) == kNow + 7'200);
  CHECK(ClockCorrection::later_by(-7'200)(kNow) == kNow - 7'200);
  CHECK(ClockCorrection::later_by(-7'200)(7'000) == 0);  // before the other was booted: damage
}

}  // namespace clock_correction_test
