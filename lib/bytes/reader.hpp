#pragma once

#include "bytes/varint.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

namespace culprit::bytes {

/// Why a reader could not read on.
enum class Failure : std::uint8_t { ends_early, out_of_range };

/// Leaves it to the caller to ask good().
struct Quiet {
  void operator()(Failure /*why*/) const noexcept {}
};

/// Reads little-endian values from a span and never beyond it. The first failure is reported once, to
/// `OnFailure`; where that does not throw, good() is false and all that is read from then on is zero or
/// empty. Itself it allocates only what text() returns; so it is async-signal-safe where OnFailure is.
template <class OnFailure = Quiet>
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes, OnFailure on_failure = {})
      : at_(reinterpret_cast<const unsigned char*>(bytes.data())),
        end_(at_ + bytes.size()),
        on_failure_(on_failure) {}

  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool at_end() const { return at_ == end_; }
  [[nodiscard]] std::size_t remaining() const { return static_cast<std::size_t>(end_ - at_); }

  template <class T>
  requires std::is_arithmetic_v<T> T get() {
    T value{};
    if (has(sizeof value)) {
      std::memcpy(&value, at_, sizeof value);
      at_ += sizeof value;
    }
    return value;
  }

  std::uint64_t get_varint() {
    std::uint64_t value = 0;
    if (!read_varint([this] { return get<unsigned char>(); }, value)) fail(Failure::out_of_range);
    return good_ ? value : 0;
  }

  std::int64_t get_zigzag() { return unzigzag(get_varint()); }

  std::int64_t get_signed_varint() {
    std::int64_t value = 0;
    if (!read_signed_varint([this] { return get<unsigned char>(); }, value)) fail(Failure::out_of_range);
    return good_ ? value : 0;
  }

  std::span<const std::byte> take(std::uint64_t count) {
    if (!has(count)) return {};
    const std::span taken(reinterpret_cast<const std::byte*>(at_), static_cast<std::size_t>(count));
    at_ += count;
    return taken;
  }
  void skip(std::uint64_t count) { take(count); }

  /// Bytes behind their number.
  std::span<const std::byte> get_bytes() { return take(get_varint()); }
  std::string get_string() {
    const std::span<const std::byte> found = get_bytes();
    return {reinterpret_cast<const char*>(found.data()), found.size()};
  }

 protected:
  static_assert(std::endian::native == std::endian::little);

  bool has(std::uint64_t count) {
    if (count <= remaining()) [[likely]]
      return true;
    fail(Failure::ends_early);
    return false;
  }

  /// Inlined, so that nothing takes the reader's address and compilers keep it in registers.
  [[gnu::always_inline]] void fail(Failure why) {
    at_ = end_;
    if (!good_) return;
    good_ = false;
    on_failure_(why);
  }

  const unsigned char* at_;
  const unsigned char* end_;
  [[no_unique_address]] OnFailure on_failure_;

 private:
  bool good_ = true;
};

}  // namespace culprit::bytes
