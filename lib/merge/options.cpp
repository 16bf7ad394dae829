#include "merge/options.hpp"

#include "database/format.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <stdexcept>

namespace culprit::merge {
namespace {

/// Whether a file begins as a database does, or is empty.
bool may_be_database(const std::filesystem::path& path) {
  std::array<char, sizeof database::format::kMagic> begin{};
  std::ifstream file(path, std::ios::binary);
  file.read(begin.data(), begin.size());
  return file.gcount() == 0 || std::ranges::equal(begin, database::format::kMagic);
}

}  // namespace

void check_output(const Options& options) {
  if (!std::filesystem::exists(options.output)) return;
  const std::string what = "writing: " + options.output.string();
  if (!std::filesystem::is_regular_file(options.output))
    throw std::runtime_error(what + ": is no regular file (name another one with -o)");
  if (!options.force) throw std::runtime_error(what + ": already exists (use --force or -o)");
  if (!may_be_database(options.output))
    throw std::runtime_error(what + ": is no database, which --force replaces (name another file with -o)");
}

std::filesystem::path place_of(const Options& options) {
  return std::filesystem::weakly_canonical(std::filesystem::absolute(options.output).parent_path());
}

std::filesystem::path place_for_spills(const Options& options) {
  return options.dry_run ? std::filesystem::path() : std::filesystem::absolute(options.output).parent_path();
}

}  // namespace culprit::merge
