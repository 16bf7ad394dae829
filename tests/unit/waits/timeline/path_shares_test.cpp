// Shares of amounts are rounded down to the ns, however large the numbers.
#include "waits/timeline/path_shares.hpp"

#include <algorithm>
#include <cstdint>
#include <random>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace culprit::waits {

namespace {

/// Of all magnitudes.
std::uint64_t any_number(std::mt19937_64& random) {
  return random() >> random() % 64;
}

}  // namespace

TEST_CASE("a share is rounded down exactly") {
  CHECK(share(5, 0, 7) == 0);
  CHECK(share(5, 3, 0) == 0);
  CHECK(share(~std::uint64_t{0}, 9, 9) == ~std::uint64_t{0});
  REQUIRE(rc::check("as in wider numbers", [] {
    __extension__ using Wide = unsigned __int128;
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t whole = std::max<std::uint64_t>(any_number(random), 1);
      const std::uint64_t part = any_number(random) % whole;
      const std::uint64_t amount = any_number(random);
      RC_ASSERT(share(amount, part, whole) == static_cast<std::uint64_t>(Wide{amount} * part / whole));
      // Just below the next whole number, where rounding would be seen.
      const std::uint64_t below = (std::uint64_t{1} << 52) / whole * whole - 1;
      if (whole > 1) RC_ASSERT(share(below, 1, whole) == below / whole);
    }
  }));
}

}  // namespace culprit::waits
