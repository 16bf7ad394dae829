#pragma once

#include "measurement/measurement.hpp"
#include "measurement/sealed_layout.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace culprit::measurement {

/// Reads the numbers and strings of a sealed section in turn; throws MeasurementError at the end of the
/// bytes. Hands its own address to nothing, so that compilers keep where it is in registers: a tree is
/// thousands of short numbers, each of which begins where the one before ends.
class Decoder {
 public:
  Decoder(const std::filesystem::path& path, const char* section, std::span<const std::byte> bytes)
      : path_(&path),
        section_(section),
        at_(reinterpret_cast<const unsigned char*>(bytes.data())),
        end_(at_ + bytes.size()) {}

  [[nodiscard]] std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

  unsigned byte() {
    if (at_ == end_) fail("ends early");
    return *at_++;
  }

  std::uint64_t varint() {
    if (left() < sizeof(std::uint64_t)) [[unlikely]]
      return any_varint();
    // Eight bytes at once and without branches on their content, which no predictor could guess.
    std::uint64_t word = 0;
    std::memcpy(&word, at_, sizeof word);
    const std::uint64_t stops = ~word & 0x8080808080808080u;
    if (stops == 0) [[unlikely]]
      return any_varint();
    word &= stops ^ (stops - 1);  // up to the first byte that has no successor
    at_ += std::countr_zero(stops) / 8 + 1;
    return joined(word);
  }

  /// The next `count` varints, at most kMostAtOnce.
  void varints(unsigned count, std::uint64_t* values) {
    const unsigned char* begin = at_;
    std::uint32_t stops = left() >= kWindow + sizeof(std::uint64_t) ? stops_ahead() : 0;
    for (unsigned i = 0; i < count; ++i) {
      const unsigned char* const end = at_ + std::countr_zero(stops) + 1;
      if (stops == 0 || end - begin > 8) [[unlikely]] {
        at_ = begin;
        for (; i < count; ++i) values[i] = any_varint();
        return;
      }
      stops &= stops - 1;
      std::uint64_t word = 0;
      std::memcpy(&word, begin, sizeof word);
      values[i] = joined(word & ~std::uint64_t{0} >> 8 * (8 - (end - begin)));
      begin = end;
    }
    at_ = begin;
  }

  /// Passes over the next `count` varints, at least one and at most kMostAtOnce.
  void skip_varints(unsigned count) {
    std::uint32_t stops = left() >= kWindow ? stops_ahead() : 0;
    const std::uint32_t inside = stops ^ 0xffffU;
    std::uint32_t long_run = inside & inside >> 1;
    long_run &= long_run >> 2;
    long_run &= long_run >> 4;
    for (unsigned i = 1; i < count; ++i) stops &= stops - (stops != 0 ? 1 : 0);
    // One of more than nine bytes may be out of range; what does not end here is looked at one by one, too.
    if (stops == 0 || (long_run & inside >> 8) != 0) [[unlikely]] {
      for (; count > 0; --count) any_varint();
    } else {
      at_ += std::countr_zero(stops) + 1;
    }
  }
  static constexpr unsigned kMostAtOnce = 6;

  std::int64_t zigzag() { return sealed::unzigzag(varint()); }

  /// A varint that must fit into 32 bits.
  std::uint32_t number() {
    const std::uint64_t value = varint();
    if (value > 0xffffffff) fail("holds a number out of range");
    return static_cast<std::uint32_t>(value);
  }

  std::span<const std::byte> bytes() {
    const std::uint64_t size = varint();
    if (size > left()) fail("ends early");
    const std::span found(reinterpret_cast<const std::byte*>(at_), static_cast<std::size_t>(size));
    at_ += size;
    return found;
  }

  std::string string() {
    const auto found = bytes();
    return {reinterpret_cast<const char*>(found.data()), found.size()};
  }

  /// As string(), into memory that is there already.
  void string(std::string& into) {
    const auto found = bytes();
    into.assign(reinterpret_cast<const char*>(found.data()), found.size());
  }

  /// A record that is preceded by its length.
  Decoder record() { return {*path_, section_, bytes()}; }

  [[noreturn]] void fail(const char* what) const { fail(path_, section_, what); }

 private:
  static_assert(std::endian::native == std::endian::little);
  static constexpr std::size_t kWindow = 16;

  /// The low seven bits of each byte, one after the other.
  static std::uint64_t joined(std::uint64_t word) {
    word &= 0x7f7f7f7f7f7f7f7fu;
    word = (word & 0x007f007f007f007fu) | (word & 0x7f007f007f007f00u) >> 1;
    word = (word & 0x00003fff00003fffu) | (word & 0x3fff00003fff0000u) >> 2;
    return (word & 0x000000000fffffffu) | (word & 0x0fffffff00000000u) >> 4;
  }

  /// Bit i: byte i of the kWindow next ones is the last of a varint. So the ends of several are found at once
  /// and not each from the one before. 0 on machines where that is not simple.
  [[nodiscard]] std::uint32_t stops_ahead() const {
#if defined(__SSE2__)
    const __m128i window = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at_));
    return static_cast<std::uint32_t>(_mm_movemask_epi8(window)) ^ 0xffffU;
#else
    return 0;
#endif
  }

  std::uint64_t any_varint() {
    const unsigned char* at = at_;
    const std::uint64_t value = slow_varint(at, end_, path_, section_);
    at_ = at;
    return value;
  }
  static std::uint64_t slow_varint(const unsigned char*& at, const unsigned char* end,
                                   const std::filesystem::path* path, const char* section);
  [[noreturn]] static void fail(const std::filesystem::path* path, const char* section, const char* what);

  const std::filesystem::path* path_;
  const char* section_;
  const unsigned char* at_;
  const unsigned char* end_;
};

}  // namespace culprit::measurement
