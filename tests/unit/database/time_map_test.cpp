#include "database/sections.hpp"

#include <catch2/catch.hpp>

namespace time_map_test {

using namespace culprit;
using namespace culprit::database;

namespace {

TimeMap two_ranks() {
  TimeMap map{.begin_ns = 50, .bin_ns = 100, .bins = 3, .rows = {}};
  for (const std::int32_t rank : {0, 1}) {
    TimeMap::Row& row = map.rows.emplace_back();
    row.rank = rank;
    row.calls_ns = {100, 0, 70};
    row.contexts = {1, 1, kNone};
    row.iterations = {{0, 2}, {1, 1}, {7, 300}};
  }
  return map;
}

/// Of the critical path, of both ranks.
constexpr std::size_t kNumbersOfCells = 2 * sizeof(std::uint32_t);

}  // namespace

TEST_CASE("a map of time of an older writer is read, and knows no iterations, or no critical path") {
  TimeMap map = two_ranks();
  map.rows[1].critical = {{.bin = 1, .ns = 7}, {.bin = 2, .ns = 100}};
  CHECK(decode_time_map(encode_time_map(map)) == map);
  for (TimeMap::Row& row : map.rows) row.critical.clear();
  for (TimeMap::Row& row : map.rows) row.iterations.assign(map.bins, {});
  Bytes bytes = encode_time_map(map);
  bytes.resize(bytes.size() - kNumbersOfCells);
  CHECK(decode_time_map(bytes) == map);
  bytes.resize(bytes.size() - map.rows.size() * map.bins);  // a bin in no iteration takes a byte
  for (TimeMap::Row& row : map.rows) row.iterations.clear();
  CHECK(decode_time_map(bytes) == map);
}

TEST_CASE("a map of time whose bins have no length is refused") {
  TimeMap map = two_ranks();
  map.bin_ns = 0;
  CHECK_THROWS(decode_time_map(encode_time_map(map)));
}

TEST_CASE("iterations of a map of time that are cut off, or cannot be numbered, are refused") {
  const TimeMap map = two_ranks();
  Bytes bytes = encode_time_map(map);
  CHECK(decode_time_map(bytes) == map);
  bytes.pop_back();
  CHECK_THROWS_AS(decode_time_map(bytes), Malformed);
  TimeMap large = map;
  large.rows.back().iterations.back() = {.first = UINT32_MAX, .count = 1};
  bytes = encode_time_map(large);
  CHECK(decode_time_map(bytes) == large);
  bytes[bytes.size() - 1 - kNumbersOfCells] =
      std::byte{0x7F};  // of the last varint: the distance from the iteration before
  CHECK_THROWS_AS(decode_time_map(bytes), Malformed);
}

}  // namespace time_map_test
