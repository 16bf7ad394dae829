// Packs items of several four-byte fields (docs/algorithms.md 16): each field as the zigzag difference from
// the item before, 32 differences together in as few bytes as the largest takes. Items that follow each other
// differ little, so they take a third or a quarter. Four fields at once, by the vectors of four numbers that
// every processor has: field by field `bench_waits ring 1024 100000000 2` takes 18 % more CPU time
// (2026-11-28).
#include "storage/packed_items.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace culprit::storage {

namespace {

/// Bytes of a column's value, as it is.
constexpr std::size_t kWord = sizeof(std::uint32_t);
/// Differences of a column, of items that follow each other, that take the same number of bytes each.
/// Compilers make vector instructions of loops over this number.
constexpr std::size_t kTogether = 32;

/// The bytes that the largest of them takes.
std::size_t bytes_for(std::uint32_t largest) {
  return (static_cast<std::size_t>(std::bit_width(largest)) + 7) / 8;
}

template <typename Number>
using Group = std::array<Number, kTogether>;

constexpr std::array<std::byte, kTogether> kZeros{};

/// Small where the difference is, upwards or downwards.
template <typename Words>
Words folded(const Words& difference) {
  return difference << 1 ^ -(difference >> 31);
}
template <typename Words>
Words unfolded(const Words& folded) {
  return folded >> 1 ^ -(folded & 1U);
}

/// The first `count` as numbers of this size, without their `kShift` lowest bits. Returns behind them.
template <typename Number, int kShift = 0>
[[gnu::always_inline]] inline std::byte* put(const Group<std::uint32_t>& words, std::size_t count,
                                             std::byte* at) {
  Group<Number> narrow;
  for (std::size_t i = 0; i < kTogether; ++i) narrow[i] = static_cast<Number>(words[i] >> kShift);
  std::memcpy(at, narrow.data(), count * sizeof(Number));
  return at + count * sizeof(Number);
}
template <typename Number>
[[gnu::always_inline]] inline const std::byte* take(const std::byte* at, std::size_t count,
                                                    Group<std::uint32_t>& words) {
  Group<Number> narrow{};
  std::memcpy(narrow.data(), at, count * sizeof(Number));
  for (std::size_t i = 0; i < kTogether; ++i) words[i] = narrow[i];
  return at + count * sizeof(Number);
}

/// Behind how many bytes each takes.
[[gnu::always_inline]] inline std::byte* put_group(const Group<std::uint32_t>& words, std::size_t count,
                                                   std::size_t bytes, std::byte* at) {
  *at++ = static_cast<std::byte>(bytes);
  switch (bytes) {
    case 0:
      return at;
    case 1:
      return put<std::uint8_t>(words, count, at);
    case 2:
      return put<std::uint16_t>(words, count, at);
    case 3:
      return put<std::uint8_t, 16>(words, count, put<std::uint16_t>(words, count, at));
    default:
      return put<std::uint32_t>(words, count, at);
  }
}

[[gnu::always_inline]] inline const std::byte* take_group(const std::byte* at, std::size_t count,
                                                          Group<std::uint32_t>& words) {
  switch (std::to_integer<unsigned>(*at++)) {
    case 0:
      // Compilers would set this to zero by an instruction that is slow to start.
      take<std::uint8_t>(kZeros.data(), count, words);
      return at;
    case 1:
      return take<std::uint8_t>(at, count, words);
    case 2:
      return take<std::uint16_t>(at, count, words);
    case 3: {
      Group<std::uint32_t> high;
      at = take<std::uint8_t>(take<std::uint16_t>(at, count, words), count, high);
      for (std::size_t i = 0; i < kTogether; ++i) words[i] |= high[i] << 16;
      return at;
    }
    default:
      return take<std::uint32_t>(at, count, words);
  }
}

/// Four columns, side by side, of one item.
using Four = std::uint32_t __attribute__((vector_size(16)));

Four four_at(const void* at) {
  Four four;
  std::memcpy(&four, at, sizeof four);
  return four;
}
void store(void* at, const Four& four) {
  std::memcpy(at, &four, sizeof four);
}

/// Four items' columns to four columns of items, and back.
void transpose(Four& a, Four& b, Four& c, Four& d) {
  const Four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5),
             ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Four cd = __builtin_shufflevector(c, d, 0, 4, 1, 5),
             cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  a = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
  b = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
  c = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
  d = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
}

using FourGroups = std::array<Group<std::uint32_t>, 4>;

/// Of a group of items `stride` bytes from one to the next; `before` is what the item before has there.
std::byte* pack_four(const std::byte* items, std::size_t stride, std::uint32_t* before, std::byte* at) {
  FourGroups words;
  Four last = four_at(before), all{};
  for (std::size_t i = 0; i < kTogether; i += 4, items += 4 * stride) {
    const Four first = four_at(items), second = four_at(items + stride), third = four_at(items + 2 * stride);
    const Four fourth = four_at(items + 3 * stride);
    Four a = folded(first - last), b = folded(second - first), c = folded(third - second);
    Four d = folded(fourth - third);
    all |= a | b | c | d;
    last = fourth;
    transpose(a, b, c, d);
    store(&words[0][i], a);
    store(&words[1][i], b);
    store(&words[2][i], c);
    store(&words[3][i], d);
  }
  store(before, last);
  for (std::size_t column = 0; column < 4; ++column)
    at = put_group(words[column], kTogether, bytes_for(all[column]), at);
  return at;
}

const std::byte* unpack_four(const std::byte* at, std::size_t stride, std::uint32_t* before,
                             std::byte* items) {
  FourGroups words;
  for (Group<std::uint32_t>& column : words) at = take_group(at, kTogether, column);
  Four last = four_at(before);
  for (std::size_t i = 0; i < kTogether; i += 4) {
    Four a = unfolded(four_at(&words[0][i])), b = unfolded(four_at(&words[1][i]));
    Four c = unfolded(four_at(&words[2][i])), d = unfolded(four_at(&words[3][i]));
    transpose(a, b, c, d);
    a += last;
    b += a;
    c += b;
    last = c + d;
    store(items, a);
    store(items + stride, b);
    store(items + 2 * stride, c);
    store(items + 3 * stride, last);
    items += 4 * stride;
  }
  store(before, last);
  return at;
}

/// One column, of any number of items.
std::byte* pack_one(const std::byte* items, std::size_t stride, std::size_t count, std::uint32_t& before,
                    std::byte* at) {
  Group<std::uint32_t> words{};
  std::uint32_t all = 0;
  for (std::size_t i = 0; i < count; ++i, items += stride) {
    std::uint32_t word = 0;
    std::memcpy(&word, items, kWord);
    words[i] = folded(word - before);
    all |= words[i];
    before = word;
  }
  return put_group(words, count, bytes_for(all), at);
}

const std::byte* unpack_one(const std::byte* at, std::size_t stride, std::size_t count, std::uint32_t& before,
                            std::byte* items) {
  Group<std::uint32_t> words;
  at = take_group(at, count, words);
  for (std::size_t i = 0; i < count; ++i, items += stride) {
    before += unfolded(words[i]);
    std::memcpy(items, &before, kWord);
  }
  return at;
}

/// Calls four(column) or one(column, number of items) for the columns of the group that begins with item
/// `row`.
template <typename FourOfThem, typename OneOfThem>
void for_columns(std::size_t row, std::size_t rows, std::size_t columns, FourOfThem four, OneOfThem one) {
  const std::size_t count = std::min(kTogether, rows - row);
  std::size_t column = 0;
  for (; count == kTogether && column + 4 <= columns; column += 4) four(column);
  for (; column < columns; ++column) one(column, count);
}

/// What the columns of the item before are.
using Before = std::array<std::uint32_t, kMostColumns>;

}  // namespace

std::size_t most_packed(std::size_t rows, std::size_t columns) {
  const std::size_t groups = (rows + kTogether - 1) / kTogether;
  return columns * (kWord + groups + rows * kWord);
}

std::size_t pack_items(std::span<const std::byte> items, std::size_t rows, std::size_t columns,
                       std::span<std::byte> packed) {
  const std::size_t stride = columns * kWord;
  Before before;
  std::memcpy(before.data(), items.data(), stride);
  std::memcpy(packed.data(), items.data(), stride);
  std::byte* at = packed.data() + stride;
  for (std::size_t row = 0; row < rows; row += kTogether) {
    const std::byte* const group = items.data() + row * stride;
    for_columns(
        row, rows, columns,
        [&](std::size_t column) { at = pack_four(group + column * kWord, stride, &before[column], at); },
        [&](std::size_t column, std::size_t count) {
          at = pack_one(group + column * kWord, stride, count, before[column], at);
        });
  }
  return static_cast<std::size_t>(at - packed.data());
}

void unpack_items(std::span<const std::byte> packed, std::size_t rows, std::size_t columns,
                  std::span<std::byte> items) {
  const std::size_t stride = columns * kWord;
  Before before;
  std::memcpy(before.data(), packed.data(), stride);
  const std::byte* at = packed.data() + stride;
  for (std::size_t row = 0; row < rows; row += kTogether) {
    std::byte* const group = items.data() + row * stride;
    for_columns(
        row, rows, columns,
        [&](std::size_t column) { at = unpack_four(at, stride, &before[column], group + column * kWord); },
        [&](std::size_t column, std::size_t count) {
          at = unpack_one(at, stride, count, before[column], group + column * kWord);
        });
  }
}

}  // namespace culprit::storage
