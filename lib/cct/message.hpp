#pragma once

#include "bytes/reader.hpp"
#include "bytes/writer.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace culprit::cct {

/// A message does not hold what it should.
class ArchiveError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Values without padding or pointers, whose bytes may travel as they are between ranks of one program.
template <class T>
concept Plain = std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T>;

/// Builds a message between ranks, of plain bytes. Never a file: it fits only the program that wrote it.
class MessageWriter {
 public:
  template <Plain T>
  void value(const T& value) {
    bytes_.append(std::as_bytes(std::span(&value, 1)));
  }
  /// Length, then the elements in one piece.
  template <Plain T>
  void values(std::span<const T> values) {
    value(std::uint64_t{values.size()});
    bytes_.append(std::as_bytes(values));
  }
  template <Plain T>
  void values(const std::vector<T>& vector) {
    values(std::span<const T>(vector));
  }
  void text(const std::string& text) { values(std::span<const char>(text)); }

  /// The message; the writer is empty afterwards.
  std::vector<std::byte> take() { return bytes_.take(); }

 private:
  bytes::Writer bytes_;
};

struct ThrowArchiveError {
  [[noreturn]] void operator()(bytes::Failure /*why*/) const {
    throw ArchiveError("message: shorter than its content");
  }
};

/// Takes a message apart in the order in which it was built. Everything throws ArchiveError where the message
/// is too short or a length cannot be true, before memory is reserved for it.
class MessageReader {
 public:
  /// `message` must outlive the reader.
  explicit MessageReader(std::span<const std::byte> message) : from_(message) {}

  template <Plain T>
  T value() {
    T value;
    std::memcpy(&value, from_.take(sizeof value).data(), sizeof value);
    return value;
  }
  template <Plain T>
  std::vector<T> values() {
    std::vector<T> values(length(sizeof(T)));
    const std::span<const std::byte> bytes = from_.take(values.size() * sizeof(T));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  std::string text() {
    const std::span<const std::byte> bytes = from_.take(length(1));
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  /// Throws ArchiveError unless the whole message was read.
  void end() const {
    if (!from_.at_end()) throw ArchiveError("message: longer than its content");
  }

 private:
  std::uint64_t length(std::size_t element_size) {
    const auto length = value<std::uint64_t>();
    if (length > from_.remaining() / element_size)
      throw ArchiveError("message: a length exceeds what is left");
    return length;
  }

  bytes::Reader<ThrowArchiveError> from_;
};

}  // namespace culprit::cct
