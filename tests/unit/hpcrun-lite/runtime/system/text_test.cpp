#include "runtime/system/text.hpp"

#include <string>

#include <catch2/catch.hpp>

namespace text_test {

namespace {

std::string percent(std::uint64_t part, std::uint64_t whole) {
  culprit::runtime::Text<32> text;
  return text.percent(part, whole).c_str();
}

}  // namespace

TEST_CASE("shares are rounded as viewer-cli rounds them") {
  CHECK(percent(0, 100'000) == "under 0.1 %");
  CHECK(percent(49, 100'000) == "under 0.1 %");
  CHECK(percent(50, 100'000) == "0.1 %");
  CHECK(percent(149, 100'000) == "0.1 %");
  CHECK(percent(3'150, 100'000) == "3.2 %");
  CHECK(percent(100'000, 100'000) == "100.0 %");
}

}  // namespace text_test
