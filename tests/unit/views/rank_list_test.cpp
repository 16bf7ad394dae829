#include "views/rank_list.hpp"

#include <set>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace culprit::views {

TEST_CASE("Rank lists are read in ascending order, each rank once") {
  CHECK(parse_rank_list("0-3,8") == std::vector<std::int32_t>{0, 1, 2, 3, 8});
  CHECK(parse_rank_list(" 8 , 2-3,3") == std::vector<std::int32_t>{2, 3, 8});
  CHECK(parse_rank_list("7") == std::vector<std::int32_t>{7});
}

TEST_CASE("Rank lists may have steps") {
  CHECK(parse_rank_list("0-6:2,1") == std::vector<std::int32_t>{0, 1, 2, 4, 6});
  CHECK(parse_rank_list("3-9:4") == std::vector<std::int32_t>{3, 7});
}

TEST_CASE("What is no rank list is refused with the text at fault") {
  for (const char* text :
       {"", ",", "a", "3-1", "1-", "-1", "1,,2", "0-99999999999", "1 2", "0-8:0", "0-8:", "4:2", "0-8:2:2"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_rank_list(text), std::invalid_argument);
  }
}

TEST_CASE("Rank lists are written with ranges") {
  CHECK(format_rank_list(std::vector<std::int32_t>{8, 0, 1, 2, 3}) == "0-3, 8");
  CHECK(format_rank_list(std::vector<std::int32_t>{3, 7}) == "3, 7");
  CHECK(format_rank_list(std::vector<std::int32_t>{0, 1}) == "0, 1");
  CHECK(format_rank_list({}).empty());
}

TEST_CASE("Rank lists are written with steps where four or more are equal") {
  CHECK(format_rank_list(std::vector<std::int32_t>{0, 2, 4, 6, 8}) == "0-8:2");
  CHECK(format_rank_list(std::vector<std::int32_t>{0, 8, 16, 24, 25, 26, 27}) == "0-24:8, 25-27");
  CHECK(format_rank_list(std::vector<std::int32_t>{0, 2, 4}) == "0, 2, 4");
  CHECK(format_rank_list(std::vector<std::int32_t>{0, 2, 3, 4, 5, 9}) == "0, 2-5, 9");
}

TEST_CASE("Any set of ranks is read back as it was written") {
  REQUIRE(rc::check("written and read", [](const std::vector<std::uint8_t>& numbers) {
    const std::set<std::int32_t> ranks(numbers.begin(), numbers.end());
    RC_PRE(!ranks.empty());
    const std::vector<std::int32_t> sorted(ranks.begin(), ranks.end());
    RC_ASSERT(parse_rank_list(format_rank_list(sorted)) == sorted);
    RC_ASSERT(parts_of_ranks(sorted).size() <= sorted.size());
  }));
}

}  // namespace culprit::views
