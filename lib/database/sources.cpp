#include "database/sections.hpp"

#include <memory>

#include <zstd.h>

namespace culprit::database {
namespace {

enum class Stored : std::uint32_t { plain = 0, zstd = 1 };
constexpr int kLevel = 9;

struct StoredText {
  Stored form = Stored::plain;
  Bytes bytes;
};

/// Compressed where that helps, and not so far that a reader would have to allocate without bound.
StoredText store(const std::string& text) {
  const auto plain = std::as_bytes(std::span(text));
  StoredText stored{Stored::zstd, Bytes(ZSTD_compressBound(text.size()))};
  const std::size_t size =
      ZSTD_compress(stored.bytes.data(), stored.bytes.size(), text.data(), text.size(), kLevel);
  const bool worth =
      ZSTD_isError(size) == 0 && size < text.size() && text.size() / size < format::kMaxCompression;
  if (!worth) return {Stored::plain, Bytes(plain.begin(), plain.end())};
  stored.bytes.resize(size);
  return stored;
}

std::string restore(ByteSpan bytes, Stored form, std::uint64_t length, const Decoder& from) {
  if (form == Stored::plain) {
    if (length != bytes.size()) from.fail("states the wrong length of a text");
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  if (form != Stored::zstd) from.fail("holds a text in an unknown form");
  if (length / format::kMaxCompression > bytes.size()) from.fail("claims a text longer than it can be");
  std::string text(length, '\0');
  const std::size_t size = ZSTD_decompress(text.data(), text.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(size) != 0 || size != length) from.fail("holds a text that cannot be decompressed");
  return text;
}

}  // namespace

void encode_sources(const std::vector<SourceFile>& sources, Encoder& index, Encoder& data) {
  for (const SourceFile& source : sources) {
    const StoredText stored = store(source.text);
    index.put(source.path);
    index.put(static_cast<std::uint32_t>(stored.form));
    index.put<std::uint64_t>(source.text.size());
    index.put<std::uint64_t>(data.size());
    index.put<std::uint64_t>(stored.bytes.size());
    data.append(stored.bytes);
  }
}

std::vector<SourceFile> decode_sources(ByteSpan index, ByteSpan data) {
  Decoder from(index, "the index of sources");
  std::vector<SourceFile> sources;
  sources.reserve(index.size() / format::kSourceIndexSize);
  std::uint64_t covered = 0;
  while (from.remaining() > 0) {
    SourceFile source{from.get<std::uint32_t>(), {}};
    const auto form = static_cast<Stored>(from.get<std::uint32_t>());
    const auto length = from.get<std::uint64_t>();
    const auto offset = from.get<std::uint64_t>();
    const auto size = from.get<std::uint64_t>();
    if (offset > data.size() || size > data.size() - offset) from.fail("points outside its data");
    // Texts that overlap would let a small file claim much memory.
    covered += size;
    if (covered > data.size()) from.fail("has overlapping texts");
    const ByteSpan bytes = data.subspan(offset, size);
    source.text = restore(bytes, form, length, from);
    sources.push_back(std::move(source));
  }
  return sources;
}

}  // namespace culprit::database
