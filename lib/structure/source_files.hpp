#pragma once

#include "structure/structure.hpp"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace culprit::structure {

/// The paths of source files, each once. libdw hands out the same pointer for the same entry of a file table,
/// which spares normalising a path more than once.
class SourceFiles {
 public:
  /// `raw` comes from libdw, which has joined it with its directory; it lives as long as the debug
  /// information.
  std::uint32_t add(const char* raw);
  [[nodiscard]] const std::vector<std::string>& paths() const { return paths_; }

 private:
  std::unordered_map<const char*, std::uint32_t> by_pointer_;
  std::unordered_map<std::string, std::uint32_t> by_path_;
  std::vector<std::string> paths_;
};

}  // namespace culprit::structure
