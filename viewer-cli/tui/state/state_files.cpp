#include "tui/state/state_files.hpp"

#include "files/named_file.hpp"
#include "files/new_file.hpp"
#include "files/readership.hpp"
#include "files/write_failure.hpp"

#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <system_error>

#include <fmt/core.h>
#include <unistd.h>

namespace culprit::viewer::tui {

namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestState = 1U << 20U;

std::optional<fs::path> state_home() {
  const char* const chosen = std::getenv("XDG_STATE_HOME");
  if (chosen != nullptr && *chosen == '/') return fs::path(chosen) / "culprit";
  const char* const home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return std::nullopt;
  return fs::path(home) / ".local" / "state" / "culprit";
}

/// FNV-1a: distinguishes paths with the same last name, the same on every machine.
std::uint64_t hash(const std::string& text) {
  std::uint64_t value = 0xcbf29ce484222325U;
  for (const char letter : text) value = (value ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  return value;
}

}  // namespace

std::optional<fs::path> state_file(const std::string& database, const std::string& ending) {
  const std::optional<fs::path> home = state_home();
  if (!home) return std::nullopt;
  std::error_code error;
  fs::path whole = fs::weakly_canonical(database, error);
  if (error) whole = database;
  return *home / fmt::format("{}-{:016x}{}", whole.filename().string(), hash(whole.string()), ending);
}

bool write_whole(const fs::path& file, const std::string& text, const std::string& database) {
  std::error_code error;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), error);
  try {
    files::NewFile made(file);
    made.write(text);
    files::Readership readers;
    readers.restrict_to(fs::absolute(database, error), fs::weakly_canonical(file.parent_path(), error));
    made.finish(readers);
    return true;
  } catch (const files::WriteFailure&) {
    return false;
  }
}

std::string write_new(const fs::path& file, const std::string& text, const fs::path& source) {
  const files::Descriptor made = files::create_exclusively(file);
  if (!made.good() && errno == EEXIST) return "exists already (choose another name)";
  if (!made.good()) return files::WriteFailure(file, errno).why();
  std::string_view left = text;
  while (!left.empty()) {
    const ssize_t written = ::write(made.get(), left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int error = errno;
      ::unlink(file.c_str());
      return files::WriteFailure(file, error).why();
    }
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  constexpr mode_t kAll = 0666;
  std::error_code error;
  files::Readership readers;
  readers.restrict_to(source, fs::weakly_canonical(fs::absolute(file, error).parent_path(), error));
  (void)files::allow(made.get(), readers.mode(kAll, made.get()));
  return {};
}

std::optional<std::string> read_whole(const fs::path& file) {
  std::error_code error;
  std::string text = files::read_named(file, kLargestState, error);
  if (error) return std::nullopt;
  return text;
}

namespace {

constexpr const char* kMetricsEnding = ".metrics";

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
  if (const auto text = read_whole(database + kMetricsEnding)) return lines_of(*text);
  const auto remembered = state_file(database, kMetricsEnding);
  if (!remembered) return {};
  const auto text = read_whole(*remembered);
  return text ? lines_of(*text) : std::vector<std::string>{};
}

std::string save_derived_metrics(const std::string& database, const std::vector<std::string>& definitions) {
  std::string text = "# Metrics defined in the browser of viewer-cli: NAME=FORMULA, one a line.\n";
  for (const std::string& definition : definitions) text += definition + '\n';
  const std::string beside = database + kMetricsEnding;
  if (write_whole(beside, text, database)) return "Kept in " + beside;
  const auto remembered = state_file(database, kMetricsEnding);
  if (remembered && write_whole(*remembered, text, database))
    return "Kept in " + remembered->string() + " (beside the database nothing can be written)";
  return "Kept until you quit only: neither beside the database nor at home anything can be written";
}

}  // namespace culprit::viewer::tui
