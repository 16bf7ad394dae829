#include "database/encoding.hpp"
#include "database/packed.hpp"
#include "database/summary_table.hpp"
#include "database/tile.hpp"
#include "database/value_list.hpp"
#include "equality.hpp"
#include "image.hpp"

#include <algorithm>
#include <map>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace values_test {

using namespace culprit;
using namespace culprit::database;

namespace {

/// Numbers of all widths, many of them alike.
rc::Gen<std::uint64_t> numbers() {
  return rc::gen::oneOf(
      rc::gen::just<std::uint64_t>(0), rc::gen::inRange<std::uint64_t>(5'000'000, 5'100'000),
      rc::gen::arbitrary<std::uint64_t>(),
      rc::gen::map(rc::gen::inRange<unsigned>(0, 64), [](unsigned bit) { return std::uint64_t{1} << bit; }));
}

std::vector<std::uint64_t> unpack(const Bytes& bytes, std::size_t count) {
  Decoder from(bytes, "packed numbers");
  std::vector<std::uint64_t> values;
  get_packed(from, count, values);
  from.expect_end();
  Decoder again(bytes, "packed numbers");
  skip_packed(again, count);
  again.expect_end();
  return values;
}

Bytes pack(const std::vector<std::uint64_t>& values) {
  Encoder into;
  put_packed(values, into);
  return into.take();
}

/// Rows of values of their own.
struct Rows {
  std::vector<std::uint32_t> indices;
  std::vector<std::vector<std::uint64_t>> columns;
};

/// Writes a list, behind another one with the same writer.
Bytes encode(const Rows& rows, std::uint32_t universe) {
  const ValueRows view{.indices = rows.indices, .columns = {rows.columns.begin(), rows.columns.end()}};
  ValueListWriter writer;
  Encoder before, into;
  writer.write(view, universe, before);
  writer.write(view, universe, into);
  CHECK(before.bytes() == into.bytes());
  return into.take();
}

/// Reads a list, its columns in the order given.
Rows decode(const Bytes& list, std::uint32_t universe, std::size_t metrics, bool backwards = false) {
  ValueListReader reader;
  reader.read(list, universe, metrics);
  Rows rows;
  rows.indices.assign(reader.indices().begin(), reader.indices().end());
  rows.columns.resize(metrics);
  for (std::size_t i = 0; i < metrics; ++i) {
    const std::size_t m = backwards ? metrics - 1 - i : i;
    const auto column = reader.column(m);
    rows.columns[m].assign(column.begin(), column.end());
  }
  return rows;
}

/// Bytes as a part of a file.
CheckedBytes part_of(const Bytes& bytes, Bytes& file) {
  std::uint64_t sum = 0;
  file = bytes;
  const Bytes sums = checksums_of(bytes, sum);
  file.insert(file.end(), sums.begin(), sums.end());
  return {file, 0, bytes.size(), sum, "summaries", "a part"};
}

std::vector<Summary> read_back(const EncodedSummaries& encoded, std::uint64_t scopes, std::uint64_t roles,
                               std::uint64_t metric_count) {
  Bytes index, data;
  const SummaryTables tables(part_of(encoded.index, index), part_of(encoded.data, data), roles, metric_count);
  return read_summaries(tables, roles, metric_count, scopes);
}

}  // namespace

TEST_CASE("any numbers survive packing") {
  CHECK(rc::check("pack, unpack", [] {
    const auto values = *rc::gen::container<std::vector<std::uint64_t>>(numbers());
    RC_ASSERT(unpack(pack(values), values.size()) == values);
  }));
  CHECK(rc::check("pack, unpack several runs", [] {
    const auto count = *rc::gen::inRange<std::size_t>(0, 400);
    const auto values = *rc::gen::container<std::vector<std::uint64_t>>(count, numbers());
    RC_ASSERT(unpack(pack(values), values.size()) == values);
  }));
}

TEST_CASE("every width of numbers survives packing") {
  for (unsigned width = 0; width <= 64; ++width) {
    const std::uint64_t most = width == 0 ? 0 : ~std::uint64_t{0} >> (64 - width);
    std::vector<std::uint64_t> values(128);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 2 == 0 ? most : most / 3;
    CHECK(unpack(pack(values), values.size()) == values);
  }
}

TEST_CASE("alike numbers take the bits in which they differ") {
  std::vector<std::uint64_t> values(1280);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 10'000'000'000 + i * 37 % 256;
  CHECK(pack(values).size() < values.size() * 5 / 4);
  values[700] = 20'000'000'000;  // one stray must not widen the others
  CHECK(pack(values).size() < values.size() * 5 / 4);
}

TEST_CASE("any list of rows survives") {
  CHECK(rc::check("encode, decode", [] {
    const auto universe = *rc::gen::inRange<std::uint32_t>(1, 600);
    const auto picked = *rc::gen::container<std::map<std::uint32_t, std::uint64_t>>(
        rc::gen::inRange<std::uint32_t>(0, universe), numbers());
    Rows rows;
    rows.columns.resize(5);
    for (const auto& [index, value] : picked) {
      rows.indices.push_back(index);
      const std::uint64_t part = value / 3;
      const std::uint64_t row[] = {value, part, value - part, part, *numbers()};
      for (std::size_t m = 0; m < 5; ++m) rows.columns[m].push_back(row[m]);
    }
    for (const bool backwards : {false, true}) {
      const Rows read = decode(encode(rows, universe), universe, 5, backwards);
      RC_ASSERT(read.indices == rows.indices);
      RC_ASSERT(read.columns == rows.columns);
    }
  }));
}

TEST_CASE("columns that follow from others cost next to nothing") {
  Rows rows;
  rows.columns.resize(4);
  for (std::uint32_t i = 0; i < 512; ++i) {
    rows.indices.push_back(i);
    rows.columns[0].push_back(5'000'000 + i * 7919);
    rows.columns[1].push_back(i * 131);
  }
  const std::size_t two = encode(rows, 512).size();
  rows.columns[2] = rows.columns[0];
  for (std::size_t i = 0; i < 512; ++i) rows.columns[3].push_back(rows.columns[0][i] - rows.columns[1][i]);
  CHECK(encode(rows, 512).size() <= two + 8);
}

TEST_CASE("lists that are none are refused") {
  const auto list = [](std::vector<unsigned> bytes) {
    Bytes result;
    for (const unsigned byte : bytes) result.push_back(static_cast<std::byte>(byte));
    return result;
  };
  CHECK(decode(list({1, 2, 3, 1, 9}), 4, 1).columns[0].front() == 9);
  CHECK_THROWS_AS(decode(list({1, 2, 4, 1, 9}), 4, 1), Malformed);      // an index out of range
  CHECK_THROWS_AS(decode(list({5, 0, 0}), 4, 1), Malformed);            // more rows than there can be
  CHECK_THROWS_AS(decode(list({3, 0, 0}), 4, 1), Malformed);            // all rows, but fewer than there are
  CHECK_THROWS_AS(decode(list({2, 1, 0x07, 0}), 4, 1), Malformed);      // a bitmap of three
  CHECK_THROWS_AS(decode(list({1, 1, 0x10, 0}), 4, 1), Malformed);      // a bitmap beyond the end
  CHECK_THROWS_AS(decode(list({1, 9, 0, 0}), 4, 1), Malformed);         // an unknown form of rows
  CHECK_THROWS_AS(decode(list({1, 2, 3, 7}), 4, 1), Malformed);         // an unknown form of column
  CHECK_THROWS_AS(decode(list({1, 2, 3, 2, 0}), 4, 1), Malformed);      // a column equal to itself
  CHECK_THROWS_AS(decode(list({1, 2, 3, 1}), 4, 1), Malformed);         // cut short
  CHECK_THROWS_AS(decode(list({1, 2, 3, 1, 9, 9}), 4, 1), Malformed);   // too long
  CHECK_THROWS_AS(decode(list({4, 0, 1, 0, 65, 0}), 4, 1), Malformed);  // too wide
  CHECK_THROWS_AS(decode(list({4, 0, 1, 0, 0, 1, 9, 1}), 4, 1), Malformed);  // an exception at no place
}

TEST_CASE("random bytes are no reason to crash") {
  CHECK(rc::check("decode", [](const std::vector<std::uint8_t>& bytes) {
    try {
      (void)decode(Bytes(reinterpret_cast<const std::byte*>(bytes.data()),
                         reinterpret_cast<const std::byte*>(bytes.data()) + bytes.size()),
                   300, 3);
    } catch (const Malformed&) {
    }
  }));
}

TEST_CASE("any summaries survive their tables") {
  CHECK(rc::check("encode, decode", [] {
    const auto accumulator = [] {
      metrics::Accumulator a;
      for (const std::uint64_t value :
           *rc::gen::container<std::vector<std::uint64_t>>(rc::gen::arbitrary<std::uint64_t>())) {
        a.accumulate(value);
      }
      return a;
    };
    std::vector<Summary> summaries;
    const std::uint32_t tables = *rc::gen::inRange<std::uint32_t>(0, 4);
    for (std::uint32_t table = 0; table < tables; ++table) {
      Summary& summary = summaries.emplace_back(Summary{table / 2, table % 2, {}});
      for (std::uint32_t scope = 0; scope < 12; ++scope) {
        SummaryEntry entry{scope, accumulator(), accumulator()};
        if (entry.inclusive.observers == 0) continue;
        if (scope % 3 == 0) entry.exclusive = entry.inclusive;
        if (entry.exclusive.observers == 0) entry.exclusive = {};
        summary.entries.push_back(entry);
      }
      if (summary.entries.empty()) summaries.pop_back();
    }
    const EncodedSummaries encoded = encode_summaries(summaries);
    const std::vector<Summary> decoded = read_back(encoded, 12, 2, 2);
    Experiment a, b;
    a.context_summaries = summaries;
    b.context_summaries = decoded;
    RC_ASSERT(equal(a, b));
  }));
}

TEST_CASE("a summary without observers is left out, and order is demanded") {
  metrics::Accumulator a;
  a.accumulate(1);
  const EncodedSummaries encoded = encode_summaries({{0, 0, {{1, {}, {}}, {2, a, {}}}}});
  const std::vector<Summary> decoded = read_back(encoded, 3, 1, 1);
  REQUIRE(decoded.size() == 1);
  REQUIRE(decoded[0].entries.size() == 1);
  CHECK(decoded[0].entries[0].scope == 2);
  CHECK_THROWS_AS(encode_summaries({{0, 0, {{2, a, {}}, {1, a, {}}}}}), std::invalid_argument);
  CHECK_THROWS_AS(read_back(encoded, 3, 1, 0), DatabaseError);
}

}  // namespace values_test
