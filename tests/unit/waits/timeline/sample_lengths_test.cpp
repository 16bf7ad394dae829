#include "waits/timeline/own_times.hpp"

#include <catch2/catch.hpp>

namespace culprit::waits {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

TEST_CASE("one sample is as long as the shortest, whatever most of a program's sleeps are", "[waits]") {
  SampleLengths lengths;
  CHECK(lengths.single() == 0);
  for (int sleep = 0; sleep < 18; ++sleep) lengths.add(60 * kMs);
  lengths.add(5 * kMs);
  lengths.add(5 * kMs);
  CHECK(lengths.single() == 5 * kMs);
}

TEST_CASE("a few samples cut short do not stand for all", "[waits]") {
  SampleLengths lengths;
  for (int sample = 0; sample < 99; ++sample) lengths.add(5 * kMs);
  lengths.add(1000);
  CHECK(lengths.single() == 5 * kMs);
}

TEST_CASE("a line of sleeps alone has samples as short as those of other lines", "[waits]") {
  CHECK(single_of_run(30 * kMs, 5 * kMs) == 5 * kMs);
  CHECK(single_of_run(11 * kMs, 5 * kMs) == 11 * kMs);  // its period grew
  CHECK(single_of_run(0, 5 * kMs) == 0);
  CHECK(single_of_run(40 * kMs, 5 * kMs << 3U) == 40 * kMs);  // its rate was halved three times
}

}  // namespace
}  // namespace culprit::waits
