#include "storage/packed_eights.hpp"

#include <array>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace culprit::storage {

#if defined(__x86_64__)

namespace {

constexpr std::size_t kColumns = 8;

/// The differences of a column.
using Words = std::array<std::uint32_t, kPackedTogether>;

[[gnu::target("avx2"), gnu::always_inline]] inline __m128i four_at(const void* at) {
  return _mm_loadu_si128(static_cast<const __m128i*>(at));
}
[[gnu::target("avx2"), gnu::always_inline]] inline __m256i eight_at(const void* at) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(at));
}
[[gnu::target("avx2"), gnu::always_inline]] inline void store(void* at, __m128i four) {
  _mm_storeu_si128(static_cast<__m128i*>(at), four);
}
[[gnu::target("avx2"), gnu::always_inline]] inline void store(void* at, __m256i eight) {
  _mm256_storeu_si256(static_cast<__m256i*>(at), eight);
}

/// Small where the difference is, upwards or downwards.
[[gnu::target("avx2"), gnu::always_inline]] inline __m256i folded(__m256i difference) {
  return _mm256_xor_si256(_mm256_slli_epi32(difference, 1), _mm256_srai_epi32(difference, 31));
}
[[gnu::target("avx2"), gnu::always_inline]] inline __m256i unfolded(__m256i folded) {
  const __m256i odd = _mm256_and_si256(folded, _mm256_set1_epi32(1));
  return _mm256_xor_si256(_mm256_srli_epi32(folded, 1), _mm256_sub_epi32(_mm256_setzero_si256(), odd));
}

/// Of four items eight columns each; or, in the vector of each of four columns, those of these items, and in
/// its upper half the items' of the column four further on.
struct Square {
  __m256i a, b, c, d;
};

/// From the one to the other.
[[gnu::target("avx2"), gnu::always_inline]] inline Square transposed(const Square& by) {
  const __m256i ab = _mm256_unpacklo_epi32(by.a, by.b), ab_high = _mm256_unpackhi_epi32(by.a, by.b);
  const __m256i cd = _mm256_unpacklo_epi32(by.c, by.d), cd_high = _mm256_unpackhi_epi32(by.c, by.d);
  return {_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd),
          _mm256_unpacklo_epi64(ab_high, cd_high), _mm256_unpackhi_epi64(ab_high, cd_high)};
}

/// The vector of a column in a square of the items from `item` on.
[[gnu::target("avx2"), gnu::always_inline]] inline __m256i column_at(const Words* column, std::size_t item) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(four_at(&column[0][item])),
                                 four_at(&column[kColumns / 2][item]), 1);
}
[[gnu::target("avx2"), gnu::always_inline]] inline void store_column(Words* column, std::size_t item,
                                                                     __m256i both) {
  store(&column[0][item], _mm256_castsi256_si128(both));
  store(&column[kColumns / 2][item], _mm256_extracti128_si256(both, 1));
}

/// Of a group's numbers, which take so many bytes each, the eight from `item` on. The third bytes of all come
/// behind the first two of all.
template <std::size_t kBytes>
[[gnu::target("avx2"), gnu::always_inline]] inline __m256i numbers_at(const std::byte* group,
                                                                      std::size_t item) {
  if constexpr (kBytes == 0) {
    return _mm256_setzero_si256();
  } else if constexpr (kBytes == 1) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(group + item)));
  } else if constexpr (kBytes == 2) {
    return _mm256_cvtepu16_epi32(four_at(group + 2 * item));
  } else if constexpr (kBytes == 3) {
    const __m256i third = numbers_at<1>(group + 2 * kPackedTogether, item);
    return _mm256_or_si256(numbers_at<2>(group, item), _mm256_slli_epi32(third, 16));
  } else {
    return eight_at(group + 4 * item);
  }
}
template <std::size_t kBytes>
[[gnu::target("avx2"), gnu::always_inline]] inline const std::byte* take(const std::byte* group,
                                                                         Words& words) {
  for (std::size_t item = 0; item < kPackedTogether; item += 8)
    store(&words[item], unfolded(numbers_at<kBytes>(group, item)));
  return group + kBytes * kPackedTogether;
}
[[gnu::target("avx2"), gnu::always_inline]] inline const std::byte* take_column(const std::byte* at,
                                                                                Words& words) {
  switch (std::to_integer<unsigned>(*at++)) {
    case 0:
      return take<0>(at, words);
    case 1:
      return take<1>(at, words);
    case 2:
      return take<2>(at, words);
    case 3:
      return take<3>(at, words);
    default:
      return take<4>(at, words);
  }
}

/// The words' lowest byte, lowest two bytes, or all four; the others are 0.
[[gnu::target("avx2"), gnu::always_inline]] inline std::byte* put_bytes(const Words& words, std::byte* at) {
  for (std::size_t item = 0; item < kPackedTogether; item += 16, at += 16) {
    const __m128i low = _mm_packus_epi32(four_at(&words[item]), four_at(&words[item + 4]));
    const __m128i high = _mm_packus_epi32(four_at(&words[item + 8]), four_at(&words[item + 12]));
    store(at, _mm_packus_epi16(low, high));
  }
  return at;
}
[[gnu::target("avx2"), gnu::always_inline]] inline std::byte* put_halves(const Words& words, std::byte* at) {
  for (std::size_t item = 0; item < kPackedTogether; item += 8, at += 16)
    store(at, _mm_packus_epi32(four_at(&words[item]), four_at(&words[item + 4])));
  return at;
}
[[gnu::target("avx2"), gnu::always_inline]] inline std::byte* put_words(const Words& words, std::byte* at) {
  for (std::size_t item = 0; item < kPackedTogether; item += 8, at += 32) store(at, eight_at(&words[item]));
  return at;
}

/// Behind how many bytes each takes.
[[gnu::target("avx2"), gnu::always_inline]] inline std::byte* put_column(const Words& words,
                                                                         std::uint32_t largest,
                                                                         std::byte* at) {
  const std::size_t bytes = bytes_for(largest);
  *at++ = static_cast<std::byte>(bytes);
  switch (bytes) {
    case 0:
      return at;
    case 1:
      return put_bytes(words, at);
    case 2:
      return put_halves(words, at);
    case 3: {
      Words low, third;
      for (std::size_t item = 0; item < kPackedTogether; item += 8) {
        const __m256i eight = eight_at(&words[item]);
        store(&low[item], _mm256_and_si256(eight, _mm256_set1_epi32(0xffff)));
        store(&third[item], _mm256_srli_epi32(eight, 16));
      }
      return put_bytes(third, put_halves(low, at));
    }
    default:
      return put_words(words, at);
  }
}

[[gnu::target("avx2")]] std::byte* pack_eight(const std::byte* items, std::size_t stride,
                                              std::uint32_t* before, std::byte* at) {
  std::array<Words, kColumns> words;
  __m256i last = eight_at(before), all = _mm256_setzero_si256();
  for (std::size_t item = 0; item < kPackedTogether; item += 4, items += 4 * stride) {
    const __m256i first = eight_at(items), second = eight_at(items + stride);
    const __m256i third = eight_at(items + 2 * stride), fourth = eight_at(items + 3 * stride);
    const Square rows{folded(_mm256_sub_epi32(first, last)), folded(_mm256_sub_epi32(second, first)),
                      folded(_mm256_sub_epi32(third, second)), folded(_mm256_sub_epi32(fourth, third))};
    last = fourth;
    all = _mm256_or_si256(_mm256_or_si256(all, _mm256_or_si256(rows.a, rows.b)),
                          _mm256_or_si256(rows.c, rows.d));
    const Square columns = transposed(rows);
    store_column(&words[0], item, columns.a);
    store_column(&words[1], item, columns.b);
    store_column(&words[2], item, columns.c);
    store_column(&words[3], item, columns.d);
  }
  store(before, last);
  std::array<std::uint32_t, kColumns> largest;
  store(largest.data(), all);
  for (std::size_t column = 0; column < kColumns; ++column)
    at = put_column(words[column], largest[column], at);
  return at;
}

[[gnu::target("avx2")]] const std::byte* unpack_eight(const std::byte* at, std::size_t stride,
                                                      std::uint32_t* before, std::byte* items) {
  std::array<Words, kColumns> words;
  for (Words& column : words) at = take_column(at, column);
  __m256i last = eight_at(before);
  for (std::size_t item = 0; item < kPackedTogether; item += 4, items += 4 * stride) {
    const Square rows = transposed({column_at(&words[0], item), column_at(&words[1], item),
                                    column_at(&words[2], item), column_at(&words[3], item)});
    const __m256i first = _mm256_add_epi32(last, rows.a), second = _mm256_add_epi32(first, rows.b);
    const __m256i third = _mm256_add_epi32(second, rows.c);
    last = _mm256_add_epi32(third, rows.d);
    store(items, first);
    store(items + stride, second);
    store(items + 2 * stride, third);
    store(items + 3 * stride, last);
  }
  store(before, last);
  return at;
}

constexpr EightColumns kByVectors{pack_eight, unpack_eight};

}  // namespace

const EightColumns* eight_columns() {
  return __builtin_cpu_supports("avx2") ? &kByVectors : nullptr;
}

#else

const EightColumns* eight_columns() {
  return nullptr;
}

#endif

}  // namespace culprit::storage
