#pragma once

#include "bytes/varint.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace culprit::bytes {

/// Appends little-endian values to bytes.
class Writer {
 public:
  Writer() = default;
  /// Empty, with the memory of `used`.
  explicit Writer(std::vector<std::byte>&& used) : bytes_(std::move(used)) { bytes_.clear(); }

  template <class T>
  requires std::is_arithmetic_v<T>
  void put(T value) { std::memcpy(extend(sizeof value), &value, sizeof value); }

  void put_varint(std::uint64_t value) {
    write_varint(value, [this](unsigned char byte) { bytes_.push_back(static_cast<std::byte>(byte)); });
  }

  /// Its length as a varint, then the bytes.
  void put_string(std::string_view text) {
    put_varint(text.size());
    append(std::as_bytes(std::span(text)));
  }

  void append(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
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
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace culprit::bytes
