#include "exchange/order_statistic.hpp"

#include "exchange/threads.hpp"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

using namespace culprit;
using culprit::exchange::order_statistic;

namespace {

using Values = std::vector<std::uint64_t>;

/// What each rank of the analysis finds, of values that are distributed at random.
Values found_by_all(const Values& all, std::uint64_t place, std::size_t analysts, std::mt19937_64& random) {
  std::vector<Values> values(analysts);
  for (const std::uint64_t value : all) values[random() % analysts].push_back(value);
  Values found;
  std::mutex mutex;
  exchange::run_on_threads(static_cast<int>(analysts), [&](exchange::Communicator& analysis) {
    const std::uint64_t one =
        order_statistic(analysis, values[static_cast<std::size_t>(analysis.rank())], place);
    const std::lock_guard lock(mutex);
    found.push_back(one);
  });
  return found;
}

std::uint64_t in_order(Values all, std::uint64_t place) {
  const auto at = all.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(all.begin(), at, all.end());
  return *at;
}

}  // namespace

TEST_CASE("the n-th of all ranks' values is found where each looks at its own only") {
  REQUIRE(rc::check("as if sorted", [] {
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
    const std::size_t analysts = *rc::gen::inRange<std::size_t>(1, 5);
    const int magnitude = *rc::gen::inRange(0, 64);
    // Few are all known to all ranks; of many, a sample is.
    const std::uint64_t most = *rc::gen::element<std::uint64_t>(200, 2000, 20'000);
    Values all(1 + random() % most);
    // Some far larger than the others, many the same.
    for (std::uint64_t& value : all)
      value = random() >> (random() % 8 == 0 ? 0 : magnitude) >> (random() % 2);
    const std::uint64_t place = random() % all.size();
    RC_ASSERT(found_by_all(all, place, analysts, random) == Values(analysts, in_order(all, place)));
  }));
}

TEST_CASE("values of which most are alike are distinguished as well") {
  std::mt19937_64 random(1);
  constexpr std::uint64_t kCount = 10'000, kMost = ~std::uint64_t{0};
  // All the same; two, with what is looked for on either side of where they meet; all but a few; the two
  // ends.
  const std::vector<std::pair<std::uint64_t, Values>> cases = {{kCount, {7, 7}},
                                                               {kCount / 2, {3, 4}},
                                                               {kCount - 2, {0, kMost}},
                                                               {2, {kMost - 1, kMost}},
                                                               {kCount, {0, 0}}};
  for (const auto& [lower, values] : cases) {
    Values all(kCount, values[1]);
    std::fill_n(all.begin(), lower, values[0]);
    for (const std::uint64_t place : {std::uint64_t{0}, lower - 1, lower % kCount, kCount - 1}) {
      for (const std::size_t analysts : {1U, 4U}) {
        CAPTURE(lower, values[0], values[1], place, analysts);
        CHECK(found_by_all(all, place, analysts, random) == Values(analysts, in_order(all, place)));
      }
    }
  }
}

TEST_CASE("ranks without values take part in looking for one") {
  exchange::run_on_threads(3, [](exchange::Communicator& analysis) {
    Values own;
    for (std::uint64_t i = 0; analysis.rank() == 1 && i < 5000; ++i) own.push_back(i * i);
    const std::uint64_t found = order_statistic(analysis, own, 2500);
    if (found != 2500U * 2500U) throw std::logic_error("not the median");
  });
}
