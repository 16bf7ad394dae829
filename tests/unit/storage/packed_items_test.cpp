#include "storage/packed_items.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

using namespace culprit::storage;

namespace {

/// `rows` items of `columns` words, of which each column goes on by steps of another magnitude.
std::vector<std::uint32_t> items(std::size_t rows, std::size_t columns, std::mt19937_64& random) {
  std::vector<std::uint32_t> words(rows * columns);
  for (std::size_t column = 0; column < columns; ++column) {
    const auto bits = static_cast<unsigned>(random() % 33);
    auto word = static_cast<std::uint32_t>(random());
    for (std::size_t row = 0; row < rows; ++row) {
      words[row * columns + column] = word;
      if (bits > 0) word += static_cast<std::uint32_t>(random()) >> (32 - bits);
      if (random() % 16 == 0) word -= 3;
    }
  }
  return words;
}

std::vector<std::byte> packed(const std::vector<std::uint32_t>& words, std::size_t rows,
                              std::size_t columns) {
  std::vector<std::byte> bytes(most_packed(rows, columns));
  const std::size_t size = pack_items(std::as_bytes(std::span(words)), rows, columns, bytes);
  REQUIRE(size <= bytes.size());
  bytes.resize(size);
  return bytes;
}

}  // namespace

TEST_CASE("packed items are unpacked as they were") {
  REQUIRE(rc::check("the same", [] {
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
    const std::size_t rows = *rc::gen::inRange<std::size_t>(1, 200);
    const std::size_t columns = *rc::gen::inRange<std::size_t>(1, kMostColumns + 1);
    const std::vector<std::uint32_t> words = items(rows, columns, random);
    std::vector<std::uint32_t> unpacked(words.size());
    unpack_items(packed(words, rows, columns), rows, columns, std::as_writable_bytes(std::span(unpacked)));
    RC_ASSERT(unpacked == words);
  }));
}

TEST_CASE("numbers that go on by little take a byte each, those that stay the same none") {
  constexpr std::size_t kRows = 512, kColumns = 4;
  std::vector<std::uint32_t> words(kRows * kColumns, 7);
  for (std::size_t row = 0; row < kRows; ++row)
    words[row * kColumns + 1] = static_cast<std::uint32_t>(1'000'000 + 100 * row);
  const std::size_t size = packed(words, kRows, kColumns).size();
  CHECK(size < kRows + kRows / 4);
}
