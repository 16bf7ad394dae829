#include "storage/queue_pool.hpp"

#include <array>
#include <cstddef>
#include <deque>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

using culprit::storage::QueuePool;

TEST_CASE("queues of one pool keep their own items in order, whosever places they take") {
  REQUIRE(rc::check("like deques", [] {
    QueuePool<int> pool;
    std::array<QueuePool<int>::Queue, 4> queues;
    std::array<std::deque<int>, 4> expected;
    std::size_t size = 0;
    for (int step = 0; step < 200; ++step) {
      const auto which = static_cast<std::size_t>(*rc::gen::inRange(0, 4));
      RC_ASSERT(queues[which].empty() == expected[which].empty());
      if (expected[which].empty() || *rc::gen::inRange(0, 2) == 0) {
        pool.push(queues[which], step);
        expected[which].push_back(step);
        ++size;
      } else {
        RC_ASSERT(pool.front(queues[which]) == expected[which].front());
        pool.pop(queues[which]);
        expected[which].pop_front();
        --size;
      }
      RC_ASSERT(pool.size() == size);
    }
  }));
}
