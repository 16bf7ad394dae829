#include "structure/source_files.hpp"

#include <filesystem>
#include <string_view>

namespace culprit::structure {

std::uint32_t SourceFiles::add(const char* raw) {
  if (raw == nullptr || *raw == '\0' || std::string_view(raw) == "???") return kNone;
  const auto known = by_pointer_.find(raw);
  if (known != by_pointer_.end()) return known->second;
  std::string text = std::filesystem::path(raw).lexically_normal().string();
  const auto [entry, added] = by_path_.try_emplace(text, static_cast<std::uint32_t>(paths_.size()));
  if (added) paths_.push_back(std::move(text));
  by_pointer_.emplace(raw, entry->second);
  return entry->second;
}

}  // namespace culprit::structure
