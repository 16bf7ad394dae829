#include "tui/panes/source_text.hpp"

#include "files/named_file.hpp"
#include "views/frame.hpp"

#include <filesystem>
#include <optional>
#include <sstream>

namespace culprit::viewer::tui {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestSource = 32U << 20U;  // larger files are generated, and not to be read here
constexpr std::size_t kTab = 4;

std::vector<std::string> lines_of(std::istream& in) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    std::string plain;
    for (const char letter : line) {
      if (letter == '\t') {
        plain.append(kTab - plain.size() % kTab, ' ');
      } else if (letter != '\r') {
        plain += letter;
      }
    }
    lines.push_back(std::move(plain));
  }
  return lines;
}

std::optional<SourceText> read(const fs::path& path) {
  std::error_code error;
  std::istringstream in(files::read_named(path, kLargestSource, error));
  if (error) return std::nullopt;
  return SourceText{lines_of(in), path.string()};
}

}  // namespace

SourceText find_source(const database::Contents& experiment, std::string_view file,
                       const PathPrefixes& prefixes) {
  for (const database::SourceFile& source : experiment.sources()) {
    if (experiment.strings[source.path] != file) continue;
    std::istringstream in(source.text);
    return {lines_of(in), "from the database"};
  }
  for (const auto& [old_prefix, new_prefix] : prefixes) {
    if (!file.starts_with(old_prefix)) continue;
    if (auto found = read(new_prefix + std::string(file.substr(old_prefix.size())))) return *found;
  }
  if (auto found = read(fs::path(file))) return *found;
  return {{}, "is neither in the database nor on this machine (P: say where it is now)"};
}

}  // namespace culprit::viewer::tui
