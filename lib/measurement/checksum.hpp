#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

// XXH64, compiled into the including file: the preloaded runtime must not depend on libxxhash. Of the library
// only the parts that allocate nothing are used.
#define XXH_INLINE_ALL
#define XXH_NO_XXH3
// By memcpy: read as whole words, what was just written as something else may be reordered with it (GCC 14
// does).
#define XXH_FORCE_MEMORY_ACCESS 0
#include <xxhash.h>

// A checksum that is kept up to date while what it covers changes: the sum, modulo 2^64, of its 8-byte words,
// each times an odd number of its own. It is linear: a change adds to it what it adds to the word, so that
// nobody looks at the rest, and threads that change different words need not wait for each other. Any one
// changed word changes it. docs/formats.md, chapter "Live measurement".
namespace culprit::measurement::layout {

/// What `word` adds that is the `place`-th of what is summed.
constexpr std::uint64_t word_sum(std::uint64_t place, std::uint64_t word) {
  return word * (0x9e3779b97f4a7c15U * (2 * place + 1));
}

/// What `bytes` bytes at `first` add, whose first word is the `place`-th. Whole words only.
inline std::uint64_t words_sum(std::uint64_t place, const void* first, std::size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(first);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < bytes / sizeof(std::uint64_t); ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, at + i * sizeof word, sizeof word);
    sum += word_sum(place + i, word);
  }
  return sum;
}

/// What the sum grows by where the field at this offset from the first word, which is the `place`-th, turns
/// from `before` to `after`.
template <typename Field>
constexpr std::uint64_t field_sum(std::uint64_t place, std::size_t offset, Field before, Field after) {
  static_assert(std::endian::native == std::endian::little && sizeof(Field) <= sizeof(std::uint64_t));
  using Bits = std::make_unsigned_t<Field>;
  const std::uint64_t growth =
      std::uint64_t{static_cast<Bits>(after)} - std::uint64_t{static_cast<Bits>(before)};
  const std::size_t word = offset / sizeof(std::uint64_t);
  return word_sum(place + word, growth << 8 * (offset % sizeof(std::uint64_t)));
}

}  // namespace culprit::measurement::layout
