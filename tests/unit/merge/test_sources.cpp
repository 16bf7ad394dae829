// Source files that are copied into the database.
#include "merge/sources.hpp"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>
#include <unistd.h>

using namespace culprit;
namespace fs = std::filesystem;

namespace {

struct Place {
  fs::path path = fs::temp_directory_path() / ("merge-sources-" + std::to_string(::getpid()));
  Place() { fs::create_directories(path); }
  ~Place() { fs::remove_all(path); }
};

std::vector<database::Context> contexts_in(std::size_t files) {
  std::vector<database::Context> contexts(files);
  for (std::size_t i = 0; i < files; ++i) contexts[i].file = static_cast<database::StringId>(i);
  return contexts;
}

}  // namespace

TEST_CASE("sources are copied once each, and only what is a readable file of sensible size") {
  const Place place;
  std::ofstream(place.path / "a.cpp") << "int main() {}\n";
  std::ofstream(place.path / "generated.c") << std::string(merge::kMaxSourceBytes + 1, '\n');
  const std::vector<std::string> strings = {
      "",         place.path / "a.cpp", place.path / "generated.c", place.path / "gone.f90",
      "a.cpp",  // relative: whatever lies there now
      place.path, "/dev/zero"};
  std::vector<database::Context> contexts = contexts_in(strings.size());
  contexts.push_back(contexts[1]);
  const std::vector<database::SourceFile> copies = merge::copy_sources(contexts, strings);
  REQUIRE(copies.size() == 1);
  CHECK(copies[0].path == 1);
  CHECK(copies[0].text == "int main() {}\n");
}
