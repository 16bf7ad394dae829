#include "merge/sources.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

namespace culprit::merge {
namespace {

/// The file's text; empty where it is no readable regular file of allowed size.
std::string read_source(const std::filesystem::path& path) {
  std::error_code none;
  if (!path.is_absolute() || !std::filesystem::is_regular_file(path, none) || none) return {};
  const auto bytes = std::filesystem::file_size(path, none);
  if (none || bytes > kMaxSourceBytes) return {};
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (file.bad() || text.size() > kMaxSourceBytes) return {};
  return text;
}

}  // namespace

std::vector<database::SourceFile> copy_sources(std::span<const database::Context> contexts,
                                               std::span<const std::string> strings) {
  std::set<database::StringId> files;
  for (const database::Context& context : contexts) files.insert(context.file);
  std::vector<database::SourceFile> sources;
  std::uint64_t total = 0;
  for (const database::StringId file : files) {
    std::string text = read_source(strings[file]);
    if (text.empty() || total + text.size() > kMaxSourcesBytes) continue;
    total += text.size();
    sources.push_back({.path = file, .text = std::move(text)});
  }
  return sources;
}

}  // namespace culprit::merge
