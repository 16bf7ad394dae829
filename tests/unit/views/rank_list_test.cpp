#include "views/rank_list.hpp"

#include <catch2/catch.hpp>

namespace culprit::views {

TEST_CASE("Rank lists are read in ascending order, each rank once") {
  CHECK(parse_rank_list("0-3,8") == std::vector<std::int32_t>{0, 1, 2, 3, 8});
  CHECK(parse_rank_list(" 8 , 2-3,3") == std::vector<std::int32_t>{2, 3, 8});
  CHECK(parse_rank_list("7") == std::vector<std::int32_t>{7});
}

TEST_CASE("What is no rank list is refused with the text at fault") {
  for (const char* text : {"", ",", "a", "3-1", "1-", "-1", "1,,2", "0-99999999999", "1 2"}) {
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

}  // namespace culprit::views
