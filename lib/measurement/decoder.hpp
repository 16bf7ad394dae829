#pragma once

#include "measurement/measurement.hpp"
#include "measurement/sealed_layout.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace culprit::measurement {

/// Reads the numbers and strings of a sealed section in turn; throws MeasurementError at the end of the
/// bytes.
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
    if (at_ != end_ && *at_ < 0x80) return *at_++;
    return left() >= kLongest ? long_varint<false>() : long_varint<true>();
  }

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

  /// A record that is preceded by its length.
  Decoder record() { return {*path_, section_, bytes()}; }

  [[noreturn]] void fail(const char* what) const;

 private:
  static constexpr std::size_t kLongest = 10;

  template <bool Checked>
  std::uint64_t long_varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      if (Checked && at_ == end_) fail("ends early");
      const std::uint64_t next = *at_++;
      if (shift == 63 && next > 1) break;
      value |= (next & 0x7f) << shift;
      if (next < 0x80) return value;
    }
    fail("holds a number out of range");
  }

  const std::filesystem::path* path_;
  const char* section_;
  const unsigned char* at_;
  const unsigned char* end_;
};

}  // namespace culprit::measurement
