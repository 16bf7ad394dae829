#pragma once

#include "bytes/reader.hpp"
#include "machine/varints.hpp"
#include "measurement/measurement.hpp"
#include "measurement/sealed_layout.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace culprit::measurement {

/// How a varint's groups of seven bits become a number: by shifts, or by an instruction for it (BMI2).
enum class Joining { shifts, pext };

/// Whether this processor extracts bits in one instruction, and not in a hundred (AMD before Zen 3), and has
/// those of BMI beside it.
[[nodiscard]] bool has_fast_pext();

[[noreturn]] void fail_decoding(const std::string& path, const char* section, const char* what);

/// Throws MeasurementError: what is wrong with a section of a file.
struct ThrowDamaged {
  const std::string* path;
  const char* section;

  [[noreturn]] void operator()(const char* what) const { fail_decoding(*path, section, what); }
  [[noreturn]] void operator()(bytes::Failure why) const {
    (*this)(why == bytes::Failure::ends_early ? "ends early" : "holds a number out of range");
  }
};

/// A varint of any length, where a BasicDecoder is in no hurry.
std::uint64_t varint_by_bytes(bytes::Reader<ThrowDamaged>& in);

/// Reads the numbers and strings of a sealed section in turn; throws MeasurementError at the end of the
/// bytes. Hands its own address to nothing, so that compilers keep where it is in registers: a tree is
/// thousands of short numbers, each of which begins where the one before ends. `kJoining`: pext only where
/// has_fast_pext().
template <Joining kJoining>
class BasicDecoder : public bytes::Reader<ThrowDamaged> {
 public:
  BasicDecoder(const std::string& path, const char* section, std::span<const std::byte> bytes)
      : Reader(bytes, {&path, section}) {}

  unsigned byte() { return get<unsigned char>(); }

  std::uint64_t varint() {
    if (remaining() < sizeof(std::uint64_t)) [[unlikely]]
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

  /// The next `count` varints, at least one and at most kMostAtOnce. `values` has room for kMostAtOnce; what
  /// is behind them is arbitrary.
  void varints(unsigned count, std::uint64_t* values) {
    if (remaining() >= kWindow + sizeof(std::uint64_t)) {
      if (const unsigned size = join_ahead(count, values); size != 0) [[likely]] {
        at_ += size;
        return;
      }
    }
    for (unsigned i = 0; i < count; ++i) values[i] = any_varint();
  }

  /// Passes over the next `count` varints, at least one and at most kMostAtOnce.
  void skip_varints(unsigned count) {
    const std::uint32_t stops = remaining() >= kWindow ? stops_ahead() : 0;
    const std::uint32_t last = bit_of_stop(count, stops);
    std::uint32_t long_run = ~stops & ~stops >> 1;
    long_run &= long_run >> 2;
    long_run &= long_run >> 4;
    // One of more than nine bytes may be out of range; what does not end here is looked at one by one, too.
    if (last == 0 || (long_run & ~stops >> 8 & (last - 1)) != 0) [[unlikely]] {
      for (; count > 0; --count) any_varint();
    } else {
      at_ += std::countr_zero(last) + 1;
    }
  }
  static constexpr unsigned kMostAtOnce = 6;

  std::int64_t zigzag() { return bytes::unzigzag(varint()); }

  /// A varint that must fit into 32 bits.
  std::uint32_t number() {
    const std::uint64_t value = varint();
    if (value > 0xffffffff) fail("holds a number out of range");
    return static_cast<std::uint32_t>(value);
  }

  std::string string() { return get_string(); }

  /// As string(), into memory that is there already.
  void string(std::string& into) {
    const auto found = get_bytes();
    into.assign(reinterpret_cast<const char*>(found.data()), found.size());
  }

  /// A record that is preceded by its length.
  BasicDecoder record() { return {*on_failure_.path, on_failure_.section, get_bytes()}; }

  [[noreturn]] void fail(const char* what) const { on_failure_(what); }

 private:
  static constexpr std::size_t kWindow = 32;

  /// The low seven bits of each byte, one after the other.
  static std::uint64_t joined(std::uint64_t word) {
    constexpr std::uint64_t kGroups = 0x7f7f7f7f7f7f7f7fu;
    if constexpr (kJoining == Joining::pext) return machine::take_bits(word, kGroups);
    word &= kGroups;
    word = (word & 0x007f007f007f007fu) | (word & 0x7f007f007f007f00u) >> 1;
    word = (word & 0x00003fff00003fffu) | (word & 0x3fff00003fff0000u) >> 2;
    return (word & 0x000000000fffffffu) | (word & 0x0fffffff00000000u) >> 4;
  }

  /// Bit i: byte i of the kWindow next ones is the last of a varint. So the ends of several are found at once
  /// and not each from the one before. 0 on machines where that is not simple.
  [[nodiscard]] std::uint32_t stops_ahead() const { return machine::low_bytes(at_); }

  /// The bit of the count-th stop, 0 if it is not among them.
  static std::uint32_t bit_of_stop(unsigned count, std::uint32_t stops) {
    if constexpr (kJoining == Joining::pext) return machine::put_bits(std::uint32_t{1} << (count - 1), stops);
    for (unsigned i = 1; i < count; ++i) stops &= stops - (stops != 0 ? 1 : 0);
    return stops & (0 - stops);
  }

  /// Joins the next varints, kMostAtOnce whatever the count, which nobody could predict. The bytes of the
  /// first `count`, or 0 where one of them is longer than a word or the window.
  [[nodiscard]] unsigned join_ahead(unsigned count, std::uint64_t* values) const {
    constexpr unsigned kWord = sizeof(std::uint64_t);
    std::uint32_t stops = stops_ahead();
    if (stops == 0) [[unlikely]]
      return 0;
    const std::uint32_t last = bit_of_stop(count, stops);
    unsigned begin = 0;
    unsigned longest = 0;
    for (unsigned i = 0; i < kMostAtOnce; ++i) {
      const auto end = static_cast<unsigned>(std::countr_zero(stops | std::uint32_t{1} << (kWindow - 1))) + 1;
      stops &= stops - 1;
      const unsigned size = end - begin;
      longest |= i < count ? size - 1 : 0;  // at least 8 where one is longer than a word
      std::uint64_t word = 0;
      std::memcpy(&word, at_ + begin, sizeof word);
      values[i] = joined(word & ~std::uint64_t{0} >> (8 * (kWord - size) & 63));
      begin = end;
    }
    return last == 0 || longest >= kWord ? 0 : static_cast<unsigned>(std::countr_zero(last)) + 1;
  }

  std::uint64_t any_varint() {
    Reader copy = *this;
    const std::uint64_t value = varint_by_bytes(copy);
    skip(remaining() - copy.remaining());
    return value;
  }
};

using Decoder = BasicDecoder<Joining::shifts>;

}  // namespace culprit::measurement
