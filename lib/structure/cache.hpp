#pragma once

#include "structure/code_map.hpp"
#include "structure/module.hpp"
#include "structure/structure.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace culprit::structure {

/// A directory is kept below this size: the structure of some hundred large programs.
inline constexpr std::uint64_t kMostCached = std::uint64_t{256} << 20;

/// What earlier runs recovered of one module, in a file of its own in a directory that may be shared by any
/// number of processes and hosts. Entries are found by build-id, and used only for what is the same in every
/// respect that recovery depends on (the tools' own code included). What cannot be read is as good as not
/// there, what cannot be written is not kept; neither is an error.
class Cache {
 public:
  /// The entry of the module; none where the request names no directory, or the module has no build-id. Uses
  /// the handle up (Module::files()).
  static std::optional<Cache> of(const Request& request, Module& module);

  /// What is known; empty where nothing is.
  [[nodiscard]] CodeMap load() const;
  /// Adds `learnt` to the entry. Of processes that do so at once, one may lose what it learnt.
  void store(const CodeMap& learnt) const;

 private:
  Cache(std::filesystem::path directory, std::filesystem::path module, const std::string& build_id,
        std::string key);
  [[nodiscard]] std::optional<CodeMap> read() const;
  /// Removes what was used longest ago until the directory is small enough.
  void make_room() const;

  std::filesystem::path directory_, module_;
  std::filesystem::path file_;
  std::string key_;  ///< all that the contents depend on
};

}  // namespace culprit::structure

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
