#include "parts.hpp"
#include "structure/cache.hpp"
#include "structure_validity.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <xxhash.h>

// Any bytes are no entry of the structure cache, or one for their key whose map is whole. Each input is read
// as it stands, and with its header made right: then it is an entry exactly where its map is a map.
namespace {

namespace structure = culprit::structure;
namespace entry = culprit::structure::cache_entry;

/// Header, key, map.
fuzz::Parts split(const fuzz::Bytes& bytes) {
  entry::Header header{};
  if (bytes.size() < sizeof header) return {};
  std::memcpy(&header, bytes.data(), sizeof header);
  const auto rest = bytes.begin() + sizeof header;
  const std::size_t key = std::min<std::size_t>(header.key_size, bytes.size() - sizeof header);
  const auto map = rest + static_cast<std::ptrdiff_t>(key);
  return {{bytes.begin(), rest}, {rest, map}, {map, bytes.end()}};
}

fuzz::Bytes join(fuzz::Parts parts) {
  entry::Header header{};
  parts[0].resize(sizeof header);
  std::memcpy(&header, parts[0].data(), sizeof header);
  header.key_size = static_cast<std::uint32_t>(parts[1].size());
  std::memcpy(parts[0].data(), &header, sizeof header);
  fuzz::Bytes bytes;
  for (const fuzz::Bytes& part : parts) bytes.insert(bytes.end(), part.begin(), part.end());
  return bytes;
}

constexpr fuzz::Format kEntry = {.split = split, .join = join};

std::string_view text_of(const fuzz::Bytes& bytes) {
  return {bytes.data(), bytes.size()};
}

fuzz::Bytes mended(const fuzz::Parts& parts) {
  fuzz::Bytes bytes = join(parts);
  entry::Header header{};
  entry::kMagic.copy(header.magic, sizeof header.magic);
  header.version = entry::kVersion;
  header.key_size = static_cast<std::uint32_t>(parts[1].size());
  header.map_size = parts[2].size();
  header.checksum = XXH64(bytes.data() + sizeof header, bytes.size() - sizeof header, 0);
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

void check(const std::optional<structure::CodeMap>& map, const std::string& key) {
  if (!map) return;
  if (!validity::invalid(map->said(), map->pieces().size()).empty()) abort();
  if (!entry::decode(entry::encode(key, *map), key)) abort();
}

}  // namespace

FUZZ_MUTATE_BY(kEntry)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Bytes bytes = fuzz::bytes_of(data, size);
  const fuzz::Parts parts = split(bytes);
  if (parts.empty()) {
    if (entry::decode(text_of(bytes), {})) abort();
    return 0;
  }
  const std::string key(text_of(parts[1]));
  check(entry::decode(text_of(bytes), key), key);
  const fuzz::Bytes whole = mended(parts);
  const auto map = entry::decode(text_of(whole), key);
  check(map, key);
  if (map.has_value() != structure::decode_code_map(std::as_bytes(std::span(parts[2]))).has_value()) abort();
  if (entry::decode(text_of(whole), key + 'x')) abort();
  return 0;
}
