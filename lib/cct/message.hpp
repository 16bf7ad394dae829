#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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

/// Builds a message between ranks: a Boost.Serialization binary archive in memory. Never a file: it fits only
/// the program that wrote it.
class MessageWriter {
 public:
  MessageWriter();
  ~MessageWriter();
  MessageWriter(const MessageWriter&) = delete;
  MessageWriter& operator=(const MessageWriter&) = delete;

  template <Plain T>
  void value(const T& value) {
    bytes(std::as_bytes(std::span(&value, 1)));
  }
  /// Length, then the elements in one piece.
  template <Plain T>
  void values(std::span<const T> values) {
    value(std::uint64_t{values.size()});
    bytes(std::as_bytes(values));
  }
  template <Plain T>
  void values(const std::vector<T>& vector) {
    values(std::span<const T>(vector));
  }
  void text(const std::string& text);

  /// The message; the writer is empty afterwards and takes no more.
  std::vector<std::byte> take();

 private:
  void bytes(std::span<const std::byte> data);

  struct State;
  std::unique_ptr<State> state_;
};

/// Takes a message apart in the order in which it was built. Everything throws ArchiveError where the message
/// is too short or a length cannot be true, before memory is reserved for it.
class MessageReader {
 public:
  /// `message` must outlive the reader.
  explicit MessageReader(std::span<const std::byte> message);
  ~MessageReader();
  MessageReader(const MessageReader&) = delete;
  MessageReader& operator=(const MessageReader&) = delete;

  template <Plain T>
  T value() {
    T value;
    bytes(std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  template <Plain T>
  std::vector<T> values() {
    std::vector<T> values(length(sizeof(T)));
    bytes(std::as_writable_bytes(std::span(values)));
    return values;
  }
  std::string text();

  /// Throws ArchiveError unless the whole message was read.
  void end();

 private:
  std::size_t length(std::size_t element_size);
  void bytes(std::span<std::byte> data);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace culprit::cct
