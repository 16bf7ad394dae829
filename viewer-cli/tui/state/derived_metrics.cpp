#include "tui/state/derived_metrics.hpp"

#include "tui/state/state_files.hpp"

#include <sstream>

namespace culprit::viewer::tui {
namespace {

constexpr const char* kEnding = ".metrics";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line.front() != '#') lines.push_back(line);
  }
  return lines;
}

}  // namespace

std::vector<std::string> load_derived_metrics(const std::string& database) {
  if (const auto text = read_whole(database + kEnding)) return lines_of(*text);
  const auto remembered = state_file(database, kEnding);
  if (!remembered) return {};
  const auto text = read_whole(*remembered);
  return text ? lines_of(*text) : std::vector<std::string>{};
}

std::string save_derived_metrics(const std::string& database, const std::vector<std::string>& definitions) {
  std::string text = "# Metrics defined in the browser of viewer-cli: NAME=FORMULA, one a line.\n";
  for (const std::string& definition : definitions) text += definition + '\n';
  const std::string beside = database + kEnding;
  if (write_whole(beside, text, database)) return "Kept in " + beside;
  const auto remembered = state_file(database, kEnding);
  if (remembered && write_whole(*remembered, text, database))
    return "Kept in " + remembered->string() + " (beside the database nothing can be written)";
  return "Kept until you quit only: neither beside the database nor at home anything can be written";
}

}  // namespace culprit::viewer::tui
