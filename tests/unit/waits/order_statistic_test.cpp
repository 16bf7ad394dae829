#include "waits/order_statistic.hpp"

#include "exchange/threads.hpp"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <random>
#include <vector>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

using namespace culprit;
using culprit::waits::order_statistic;

TEST_CASE("the n-th of all ranks' values is found where each looks at its own only") {
  REQUIRE(rc::check("as if sorted", [] {
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
    const int analysts = *rc::gen::inRange(1, 4);
    const int magnitude = *rc::gen::inRange(0, 64);
    std::vector<std::vector<std::uint64_t>> values(static_cast<std::size_t>(analysts));
    std::vector<std::uint64_t> all;
    for (int i = *rc::gen::inRange(1, 200); i > 0; --i) {
      // Some far larger than the others, many the same.
      const std::uint64_t value = random() >> (random() % 8 == 0 ? 0 : magnitude) >> (random() % 2);
      values[random() % values.size()].push_back(value);
      all.push_back(value);
    }
    std::sort(all.begin(), all.end());
    const std::uint64_t place = random() % all.size();
    std::vector<std::uint64_t> found;
    std::mutex mutex;
    exchange::run_on_threads(analysts, [&](exchange::Communicator& analysis) {
      const std::uint64_t one =
          order_statistic(analysis, values[static_cast<std::size_t>(analysis.rank())], place);
      const std::lock_guard lock(mutex);
      found.push_back(one);
    });
    RC_ASSERT(found == std::vector<std::uint64_t>(static_cast<std::size_t>(analysts), all[place]));
  }));
}
