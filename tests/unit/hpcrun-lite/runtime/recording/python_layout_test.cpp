#include "runtime/recording/python_layout.hpp"

#include <cstring>

#include <catch2/catch.hpp>

namespace culprit::runtime::python {
namespace {

constexpr unsigned long k313 = 0x030D05F0, k314 = 0x030E00F0;

/// What CPython 3.13.5 of Debian 13 publishes, as far as it is looked at.
Published published_313() {
  Published made{};
  memcpy(made.cookie, "xdebugpy", sizeof made.cookie);
  made.version = k313;
  const std::uint64_t frame[] = {80, 8, 0, 56, 72, 70}, code[] = {192, 112, 120, 128, 136, 68},
                      string[] = {56, 32, 16, 40}, bytes[] = {40, 16, 32};
  made.numbers[20] = 72;
  memcpy(made.numbers + 25, frame, sizeof frame);
  memcpy(made.numbers + 31, code, sizeof code);
  made.numbers[40] = 200;
  made.numbers[42] = 8;
  memcpy(made.numbers + 61, bytes, sizeof bytes);
  memcpy(made.numbers + 64, string, sizeof string);
  return made;
}

}  // namespace

TEST_CASE("the places of CPython 3.11 are known, those of later ones are what they publish") {
  Layout found{};
  REQUIRE(find_layout(0x030B02F0, nullptr, found));
  CHECK(found.cframes);
  const Published published = published_313();
  REQUIRE(find_layout(k313, &published, found));
  CHECK_FALSE(found.cframes);
  CHECK(found.state_inner == 72);
  CHECK(found.frame_code == 0);
  CHECK(found.frame_previous == 8);
  CHECK(found.frame_instruction == 56);
  CHECK(found.frame_end == 70);
  CHECK(found.code_file == 112);
  CHECK(found.code_first_line == 68);
  CHECK(found.code_instructions == 200);
  CHECK(found.ascii_text == 40);
  CHECK(found.compact_text == 56);
}

TEST_CASE("interpreters whose places are not known are none") {
  Layout found{};
  const Published good = published_313();
  CHECK_FALSE(find_layout(0x030C00F0, &good, found));    // 3.12 publishes nothing
  CHECK_FALSE(find_layout(0x030B00A7, nullptr, found));  // an alpha of 3.11
  CHECK_FALSE(find_layout(k313, nullptr, found));
  CHECK_FALSE(find_layout(k314, &good, found));  // of another version
  const auto is_refused = [&](auto damage) {
    Published damaged = good;
    damage(damaged);
    return !find_layout(k313, &damaged, found);
  };
  CHECK(is_refused([](Published& each) { each.cookie[0] = 'y'; }));
  CHECK(is_refused([](Published& each) { each.without_lock = 1; }));
  CHECK(is_refused([](Published& each) { each.numbers[32] = 1 << 20; }));  // a file's name far away
  CHECK(is_refused([](Published& each) { each.numbers[34] = 0; }));        // names apart
  CHECK(is_refused([](Published& each) { each.numbers[36] = 200; }));      // a line behind all of them
  CHECK(is_refused([](Published& each) { each.numbers[65] = 40; }));       // strings of another kind
  CHECK(is_refused([](Published& each) { each.numbers[26] = ~std::uint64_t{7}; }));  // a caller before all
}

}  // namespace culprit::runtime::python
