#pragma once

#include "bytes/reader.hpp"
#include "machine/machine.hpp"
#include "measurement/measurement.hpp"
#include "measurement/sealed_layout.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace culprit::measurement {

/// How a varint's groups of seven bits become a number: by shifts, or by an instruction for it (BMI2),
/// without which `./dev bench merge` takes 8 and 16 % more CPU time (like, large; 2026-11-28).
enum class Joining { shifts, pext };

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
/// machine::takes_bits().
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
  /// The low seven bits of each byte, one after the other.
  static std::uint64_t joined(std::uint64_t word) {
    constexpr std::uint64_t kGroups = 0x7f7f7f7f7f7f7f7fu;
    if constexpr (kJoining == Joining::pext) return machine::take_bits(word, kGroups);
    word &= kGroups;
    word = (word & 0x007f007f007f007fu) | (word & 0x7f007f007f007f00u) >> 1;
    word = (word & 0x00003fff00003fffu) | (word & 0x3fff00003fff0000u) >> 2;
    return (word & 0x000000000fffffffu) | (word & 0x0fffffff00000000u) >> 4;
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
