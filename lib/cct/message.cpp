#include "cct/message.hpp"

#include <cstring>
#include <streambuf>
#include <utility>

#include <boost/archive/archive_exception.hpp>
#include <boost/archive/binary_iarchive.hpp>
#include <boost/archive/binary_oarchive.hpp>
#include <boost/serialization/binary_object.hpp>

namespace culprit::cct {
namespace {

// No header: its signature is a string whose length Boost believes without asking how much there is.
constexpr unsigned kArchiveFlags = boost::archive::no_header | boost::archive::no_codecvt;

/// A stream buffer that appends to a vector.
class ByteSink : public std::streambuf {
 public:
  std::vector<std::byte> data;

 protected:
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    const auto* first = reinterpret_cast<const std::byte*>(text);
    data.insert(data.end(), first, first + count);
    return count;
  }
  int_type overflow(int_type character) override {
    if (!traits_type::eq_int_type(character, traits_type::eof()))
      data.push_back(static_cast<std::byte>(character));
    return traits_type::not_eof(character);
  }
};

/// A stream buffer over bytes in memory.
class ByteSource : public std::streambuf {
 public:
  explicit ByteSource(std::span<const std::byte> data) {
    // The get area is never written to; streambuf's interface predates const.
    char* first = const_cast<char*>(reinterpret_cast<const char*>(data.data()));
    setg(first, first, first + data.size());
  }
  [[nodiscard]] std::size_t left() const { return static_cast<std::size_t>(egptr() - gptr()); }
};

}  // namespace

struct MessageWriter::State {
  ByteSink sink;
  boost::archive::binary_oarchive archive{sink, kArchiveFlags};
};

MessageWriter::MessageWriter() : state_(std::make_unique<State>()) {}
MessageWriter::~MessageWriter() = default;

void MessageWriter::bytes(std::span<const std::byte> data) {
  if (!data.empty()) state_->archive << boost::serialization::make_binary_object(data.data(), data.size());
}

void MessageWriter::text(const std::string& text) {
  values(std::span<const char>(text));
}

std::vector<std::byte> MessageWriter::take() {
  return std::exchange(state_->sink.data, {});
}

struct MessageReader::State {
  explicit State(std::span<const std::byte> message) : source(message) {}
  ByteSource source;
  boost::archive::binary_iarchive archive{source, kArchiveFlags};
};

MessageReader::MessageReader(std::span<const std::byte> message) : state_(std::make_unique<State>(message)) {}
MessageReader::~MessageReader() = default;

void MessageReader::bytes(std::span<std::byte> data) {
  if (data.size() > state_->source.left()) throw ArchiveError("message: shorter than its content");
  if (data.empty()) return;
  try {
    auto object = boost::serialization::make_binary_object(data.data(), data.size());
    state_->archive >> object;
  } catch (const boost::archive::archive_exception& error) {
    throw ArchiveError(std::string("message: ") + error.what());
  }
}

std::size_t MessageReader::length(std::size_t element_size) {
  const auto length = value<std::uint64_t>();
  if (length > state_->source.left() / element_size)
    throw ArchiveError("message: a length exceeds what is left");
  return length;
}

std::string MessageReader::text() {
  std::string text(length(1), '\0');
  bytes(std::as_writable_bytes(std::span(text)));
  return text;
}

void MessageReader::end() {
  if (state_->source.left() != 0) throw ArchiveError("message: longer than its content");
}

}  // namespace culprit::cct
