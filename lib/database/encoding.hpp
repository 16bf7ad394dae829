#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

// Little-endian scalars, varints and strings to and from bytes. Decoding trusts nothing.
namespace culprit::database {

using Bytes = std::vector<std::byte>;
using ByteSpan = std::span<const std::byte>;

/// Bytes that do not decode; what() says where and why. The reader turns it into a DatabaseError.
class Malformed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Appends to a buffer.
class Encoder {
 public:
  Encoder() = default;
  /// Empty, with the memory of `used`.
  explicit Encoder(Bytes&& used) : bytes_(std::move(used)) { bytes_.clear(); }

  template <class T>
  requires std::is_arithmetic_v<T>
  void put(T value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }

  /// Base-128, low groups first; at most 10 bytes.
  void put_varint(std::uint64_t value) {
    while (value >= 0x80) {
      bytes_.push_back(static_cast<std::byte>(value | 0x80));
      value >>= 7;
    }
    bytes_.push_back(static_cast<std::byte>(value));
  }

  /// Its length as a varint, then the bytes.
  void put_string(std::string_view text) {
    put_varint(text.size());
    append(std::as_bytes(std::span(text)));
  }

  void put_strings(const std::vector<std::string>& texts) {
    put(static_cast<std::uint32_t>(texts.size()));
    for (const std::string& text : texts) put_string(text);
  }

  void append(ByteSpan bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  /// Room for `count` more bytes, to be written before the next call; drop() gives back what was too much.
  std::byte* extend(std::size_t count) {
    bytes_.resize(bytes_.size() + count);
    return bytes_.data() + bytes_.size() - count;
  }
  void drop(std::size_t count) { bytes_.resize(bytes_.size() - count); }
  void reserve(std::size_t count) { bytes_.reserve(count); }
  void clear() { bytes_.clear(); }
  void pad(std::size_t count) { bytes_.resize(bytes_.size() + count); }

  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] const Bytes& bytes() const { return bytes_; }
  [[nodiscard]] Bytes take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

/// Consumes a span; throws Malformed rather than read beyond it.
class Decoder {
 public:
  Decoder(ByteSpan bytes, const char* what) : bytes_(bytes), what_(what) {}

  template <class T>
  requires std::is_arithmetic_v<T> T get() {
    T value{};
    const ByteSpan from = take(sizeof value);
    std::memcpy(&value, from.data(), sizeof value);
    return value;
  }

  std::uint64_t get_varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ == bytes_.size()) fail("ends too early");
      const auto byte = static_cast<std::uint64_t>(bytes_[at_++]);
      if (shift == 63 && byte > 1) fail("holds a number of more than 64 bits");
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    fail("holds a number of more than 64 bits");
  }

  std::string get_string() {
    const std::uint64_t length = get_varint();
    const ByteSpan from = take(length);
    std::string text(length, '\0');
    if (length > 0) std::memcpy(text.data(), from.data(), length);
    return text;
  }

  std::vector<std::string> get_strings() {
    const std::uint32_t count = get_count(1);
    std::vector<std::string> texts;
    texts.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) texts.push_back(get_string());
    return texts;
  }

  /// A number of elements of at least `least` bytes each, which the rest must be able to hold.
  std::uint32_t get_count(std::size_t least) {
    const auto count = get<std::uint32_t>();
    if (count > remaining() / least) fail("claims more than it holds");
    return count;
  }

  ByteSpan take(std::size_t count) {
    if (count > remaining()) fail("ends too early");
    const ByteSpan taken = bytes_.subspan(at_, count);
    at_ += count;
    return taken;
  }

  [[nodiscard]] std::size_t remaining() const { return bytes_.size() - at_; }
  void expect_end() const {
    if (remaining() != 0) fail("is longer than its contents");
  }
  [[noreturn]] void fail(const char* why) const { throw Malformed(std::string(what_) + " " + why); }

 private:
  ByteSpan bytes_;
  std::size_t at_ = 0;
  const char* what_;
};

/// XXH3-64 with seed 0, the checksum of every part of the file.
[[nodiscard]] std::uint64_t checksum(ByteSpan bytes);

}  // namespace culprit::database
