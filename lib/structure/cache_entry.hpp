#pragma once

#include "structure/code_map.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// An entry of the structure cache, in bytes: a header, all that the map depends on (its key), and the map.
// docs/formats.md states them ("Structure cache").
namespace culprit::structure {

namespace cache_entry {

inline constexpr std::string_view kMagic = "CULPRITS";
inline constexpr std::uint32_t kVersion = 1;

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t key_size;
  std::uint64_t map_size;
  std::uint64_t checksum;  ///< XXH64 of key and map
};
static_assert(sizeof(Header) == 32);

std::string encode(const std::string& key, const CodeMap& map);

/// The map in an entry for `key`; nothing where it is damaged or for something else. Trusts nothing.
std::optional<CodeMap> decode(std::string_view bytes, std::string_view key);

}  // namespace cache_entry

}  // namespace culprit::structure
