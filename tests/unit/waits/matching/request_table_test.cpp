#include "waits/matching/request_table.hpp"

#include <cstdint>
#include <map>
#include <utility>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace request_table_test {

using culprit::waits::RequestTable;

namespace {

constexpr std::uint64_t kGreatest = ~std::uint64_t{0};

/// A request's number as programs make them, and as only damage does.
std::uint64_t any_id() {
  const auto low = static_cast<std::uint64_t>(*rc::gen::inRange(0, 40));
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      return low << 10;
    case 1:
      return low << 50 | low;
    case 2:
      return kGreatest - low;
    default:
      return low;
  }
}

}  // namespace

TEST_CASE("open requests are found by process and number, whatever the numbers") {
  REQUIRE(rc::check("as in a map", [] {
    RequestTable<std::uint64_t> table(3);
    std::map<std::pair<std::size_t, std::uint64_t>, std::uint64_t> expected;
    for (std::uint64_t step = 1; step < 300; ++step) {
      const auto process = static_cast<std::size_t>(*rc::gen::inRange(0, 3));
      const std::uint64_t id = any_id();
      const auto entry = expected.find({process, id});
      const std::uint64_t* const found = table.find(process, id);
      RC_ASSERT((found == nullptr) == (entry == expected.end()));
      if (found != nullptr) RC_ASSERT(*found == entry->second);
      if (found != nullptr && *rc::gen::inRange(0, 2) == 0) {
        table.erase(process, id);
        expected.erase(entry);
      } else {
        const auto [value, added] = table.try_emplace(process, id);
        RC_ASSERT(added == (entry == expected.end()));
        if (!added) RC_ASSERT(*value == entry->second);
        expected[{process, id}] = *value = step;
      }
      RC_ASSERT(table.size() == expected.size());
    }
    for (const auto& [key, value] : expected) RC_ASSERT(*table.find(key.first, key.second) == value);
  }));
}

TEST_CASE("a hundred thousand open requests, numbered in turn or all alike in their lowest bits") {
  for (const int shift : {0, 3, 40}) {
    RequestTable<std::uint64_t> table(1);
    constexpr std::uint64_t kCount = 100'000;
    for (int again = 0; again < 2; ++again) {
      for (std::uint64_t i = 0; i < kCount; ++i) *table.try_emplace(0, i << shift).first = i;
      CHECK(table.size() == kCount);
      std::uint64_t wrong = 0;
      for (std::uint64_t i = 0; i < kCount; ++i) {
        const std::uint64_t* const found = table.find(0, i << shift);
        wrong += found == nullptr || *found != i ? 1 : 0;
        if (found != nullptr) table.erase(0, i << shift);
      }
      CHECK(wrong == 0);
      CHECK(table.size() == 0);
      CHECK(table.find(0, 5) == nullptr);
    }
  }
}

}  // namespace request_table_test
