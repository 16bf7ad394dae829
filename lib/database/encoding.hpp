#pragma once

#include "bytes/reader.hpp"
#include "bytes/writer.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// The bytes of a database, and how errors in them are said. Decoding trusts nothing.
namespace culprit::database {

using Bytes = std::vector<std::byte>;
using ByteSpan = std::span<const std::byte>;

/// Bytes that do not decode; what() says where and why. The reader turns it into a DatabaseError.
class Malformed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Appends to a buffer.
class Encoder : public bytes::Writer {
 public:
  using Writer::Writer;

  void put_strings(const std::vector<std::string>& texts) {
    put(static_cast<std::uint32_t>(texts.size()));
    for (const std::string& text : texts) put_string(text);
  }
};

/// Throws Malformed: that `what` could not be read, and why.
struct ThrowMalformed {
  const char* what;

  [[noreturn]] void operator()(const char* why) const { throw Malformed(std::string(what) + " " + why); }
  [[noreturn]] void operator()(bytes::Failure why) const {
    (*this)(why == bytes::Failure::ends_early ? "ends too early" : "holds a number of more than 64 bits");
  }
};

/// Consumes a span; throws Malformed rather than read beyond it.
class Decoder : public bytes::Reader<ThrowMalformed> {
 public:
  Decoder(ByteSpan bytes, const char* what) : Reader(bytes, {what}) {}

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

  void expect_end() const {
    if (!at_end()) fail("is longer than its contents");
  }
  [[noreturn]] void fail(const char* why) const { on_failure_(why); }
};

/// XXH3-64 with seed 0, the checksum of every part of the file.
[[nodiscard]] std::uint64_t checksum(ByteSpan bytes);

/// A value as it stands at `bytes[at]`, aligned or not. The caller has made sure that it lies in `bytes`.
template <class T>
T load(ByteSpan bytes, std::size_t at = 0) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// Contexts one after the other, of which neighbours are often equal: varint length, u32 context, ...
inline void put_runs(const std::vector<std::uint32_t>& contexts, Encoder& into) {
  for (std::size_t at = 0; at < contexts.size();) {
    std::size_t end = at;
    while (end < contexts.size() && contexts[end] == contexts[at]) ++end;
    into.put_varint(end - at);
    into.put(contexts[at]);
    at = end;
  }
}

/// `count` of them.
inline std::vector<std::uint32_t> get_runs(std::size_t count, Decoder& from) {
  std::vector<std::uint32_t> contexts;
  while (contexts.size() < count) {
    const std::uint64_t length = from.get_varint();
    if (length == 0 || length > count - contexts.size()) from.fail("has runs that do not fit");
    contexts.insert(contexts.end(), length, from.get<std::uint32_t>());
  }
  return contexts;
}

}  // namespace culprit::database

namespace culprit::database {

/// A database cannot be read. what() is "why (what to do)".
class DatabaseError : public std::runtime_error {
 public:
  DatabaseError(std::filesystem::path path, const std::string& why)
      : std::runtime_error(why), path_(std::move(path)) {}
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace culprit::database
