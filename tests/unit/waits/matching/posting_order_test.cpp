#include "waits/matching/posting_order.hpp"

#include <algorithm>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace posting_order_test {

using culprit::waits::PostingOrder;

namespace {

constexpr std::int32_t kAny = PostingOrder::kAny;

std::vector<std::uint64_t> items(const std::vector<PostingOrder::Receive>& ready) {
  std::vector<std::uint64_t> found;
  for (const auto& receive : ready) found.push_back(receive.item);
  return found;
}

}  // namespace

TEST_CASE("a receive that is complete early waits for those posted before it that might take its message") {
  PostingOrder order;
  std::vector<PostingOrder::Receive> ready;
  const auto wild = order.post(kAny, 7);
  const auto later = order.post(3, 7);
  const auto elsewhere = order.post(3, 8);

  order.complete(later, 3, 7, 100, ready);
  CHECK(ready.empty());
  order.complete(elsewhere, 3, 8, 101, ready);
  CHECK(items(ready) == std::vector<std::uint64_t>{101});
  order.complete(wild, 3, 7, 102, ready);
  CHECK(items(ready) == std::vector<std::uint64_t>{101, 102, 100});
  CHECK(order.open() == 0);
  CHECK(order.held_back() == 0);
}

TEST_CASE("a cancelled receive lets those behind it go on") {
  PostingOrder order;
  std::vector<PostingOrder::Receive> ready;
  const auto first = order.post(1, 1);
  const auto second = order.post(1, 1);
  order.complete(second, 1, 1, 5, ready);
  CHECK(ready.empty());
  order.withdraw(first, ready);
  CHECK(items(ready) == std::vector<std::uint64_t>{5});
}

TEST_CASE("messages are taken in the order of posting, whatever the order of completion") {
  REQUIRE(rc::check("per source and tag", [] {
    struct Posted {
      std::int32_t source, tag;  // as it turns out
      PostingOrder::Ticket sequence;
    };
    PostingOrder order;
    std::vector<PostingOrder::Receive> ready;
    std::vector<Posted> posted;
    const auto count = *rc::gen::inRange(0, 40);
    const bool at_once = *rc::gen::inRange(0, 2) == 0;  // those that can be
    const int wildcards = *rc::gen::inRange(0, 2);      // one in three, or none
    for (int i = 0; i < count; ++i) {
      const std::int32_t source = *rc::gen::inRange(0, 3);
      const std::int32_t tag = *rc::gen::inRange(0, 2);
      const bool any_source = wildcards * *rc::gen::inRange(0, 3) == 1;
      const bool any_tag = wildcards * *rc::gen::inRange(0, 3) == 1;
      posted.push_back({source, tag, order.post(any_source ? kAny : source, any_tag ? kAny : tag)});
    }
    std::vector<std::size_t> completion(posted.size());
    for (std::size_t i = 0; i < completion.size(); ++i) completion[i] = i;
    for (std::size_t i = completion.size(); i > 1; --i) {
      std::swap(completion[i - 1],
                completion[static_cast<std::size_t>(*rc::gen::inRange(0, static_cast<int>(i)))]);
    }
    for (const std::size_t i : completion) {
      if (*rc::gen::inRange(0, 8) == 0) {
        order.withdraw(posted[i].sequence, ready);
        posted[i].source = -1;
      } else if (at_once && order.take(posted[i].sequence, posted[i].source, posted[i].tag)) {
        ready.push_back({.source = posted[i].source, .tag = posted[i].tag, .item = i});
      } else {
        order.complete(posted[i].sequence, posted[i].source, posted[i].tag, i, ready);
      }
    }
    std::size_t taken = 0;
    for (std::int32_t source = 0; source < 3; ++source) {
      for (std::int32_t tag = 0; tag < 2; ++tag) {
        std::vector<std::uint64_t> expected, found;
        for (std::size_t i = 0; i < posted.size(); ++i) {
          if (posted[i].source == source && posted[i].tag == tag) expected.push_back(i);
        }
        for (const auto& receive : ready) {
          if (receive.source == source && receive.tag == tag) found.push_back(receive.item);
        }
        RC_ASSERT(found == expected);
        taken += found.size();
      }
    }
    RC_ASSERT(taken == ready.size());
    RC_ASSERT(order.open() == 0);
    RC_ASSERT(order.held_back() == 0);
  }));
}

}  // namespace posting_order_test
