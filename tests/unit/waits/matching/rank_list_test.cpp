#include "waits/matching/rank_list.hpp"

#include "measurement/trace_operation.hpp"

#include <algorithm>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace rank_list_test {

using culprit::waits::RankList;

TEST_CASE("a rank list gives back any ranks") {
  REQUIRE(rc::check("members by index, and who is one", [](const std::vector<std::int16_t>& some) {
    std::vector<std::int32_t> ranks(some.begin(), some.end());
    const RankList list = RankList::unpacked(RankList(ranks).packed());
    RC_ASSERT(list.size() == ranks.size());
    for (std::size_t i = 0; i < ranks.size(); ++i)
      RC_ASSERT(list.at(static_cast<std::int32_t>(i)) == ranks[i]);
    for (std::int32_t rank = -300; rank < 300; ++rank) {
      RC_ASSERT(list.contains(rank) == (std::find(ranks.begin(), ranks.end(), rank) != ranks.end()));
    }
  }));
}

TEST_CASE("a rank list of few members takes memory for these only") {
  const RankList list = RankList::at_places({{2, 7}, {3, 8}, {16'000'000, 9}});
  CHECK(list.packed().size() == 12);
  CHECK(list.size() == 16'000'001);
  CHECK(list.at(0) == culprit::measurement::trace::kNobody);
  CHECK(list.at(3) == 8);
  CHECK(list.at(4) == culprit::measurement::trace::kNobody);
  CHECK(list.at(16'000'000) == 9);
  CHECK(RankList::at_places({}).size() == 0);
}

TEST_CASE("a rank list of regular ranks is small, and has no member beside its own") {
  std::vector<std::int32_t> ranks;
  for (std::int32_t rank = 5; rank < 100'000; rank += 7) ranks.push_back(rank);
  const RankList list(ranks);
  CHECK(list.packed().size() == 3);
  CHECK(list.at(3) == 26);
  CHECK_FALSE(list.at(-1).has_value());
  CHECK_FALSE(list.at(static_cast<std::int32_t>(ranks.size())).has_value());
  CHECK_FALSE(RankList().at(0).has_value());
}

}  // namespace rank_list_test
