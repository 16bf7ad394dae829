#include "structure/cache_entry.hpp"

#include <cstring>
#include <span>
#include <vector>

#include <xxhash.h>

namespace culprit::structure::cache_entry {

std::string encode(const std::string& key, const CodeMap& map) {
  const std::vector<std::byte> encoded = structure::encode(map);
  Header header{.magic = {},
                .version = kVersion,
                .key_size = static_cast<std::uint32_t>(key.size()),
                .map_size = encoded.size(),
                .checksum = 0};
  kMagic.copy(header.magic, sizeof header.magic);
  std::string bytes(sizeof header, '\0');
  bytes += key;
  bytes.append(reinterpret_cast<const char*>(encoded.data()), encoded.size());
  header.checksum = XXH64(bytes.data() + sizeof header, bytes.size() - sizeof header, 0);
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

std::optional<CodeMap> decode(std::string_view bytes, std::string_view key) {
  Header header{};
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::string_view rest = bytes.substr(sizeof header);
  if (std::string_view(header.magic, sizeof header.magic) != kMagic || header.version != kVersion ||
      header.key_size > rest.size() || header.map_size != rest.size() - header.key_size ||
      rest.substr(0, header.key_size) != key || header.checksum != XXH64(rest.data(), rest.size(), 0))
    return std::nullopt;
  return decode_code_map(std::as_bytes(std::span(rest.substr(header.key_size))));
}

}  // namespace culprit::structure::cache_entry
