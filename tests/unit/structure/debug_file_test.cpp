// Debug information that lies in a file of its own.
#include "modules.hpp"
#include "structure/module.hpp"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>
#include <unistd.h>

using namespace culprit::structure;
namespace fs = std::filesystem;

namespace {

/// A directory of this test, removed with it.
struct Place {
  fs::path path = fs::temp_directory_path() / ("structure-debug-" + std::to_string(::getpid()));
  Place() { fs::create_directories(path); }
  ~Place() { fs::remove_all(path); }
};

Request request_for(const fs::path& file) {
  Request request;
  request.path = file;
  request.addresses = section_addresses(program("loops-O2"), ".text", 7);
  return request;
}

bool has_lines(const ModuleStructure& module) {
  return std::ranges::any_of(module.points, [](const Point& point) { return point.line != 0; });
}

}  // namespace

TEST_CASE("a debug link leads to lines and inlined calls") {
  const ModuleStructure whole = recover(request_for(program("loops-O2")));
  const ModuleStructure linked = recover(request_for(program("loops-linked")));
  CHECK(linked.notes.empty());
  REQUIRE(linked.points.size() == whole.points.size());
  CHECK(linked.files == whole.files);
  for (std::size_t i = 0; i < whole.points.size(); ++i) {
    CHECK(linked.points[i].line == whole.points[i].line);
    CHECK(linked.points[i].scope == whole.points[i].scope);
  }
}

TEST_CASE("a debug file of another build is not used") {
  const Place place;
  fs::copy_file(program("loops-linked"), place.path / "loops-linked");
  fs::copy_file(program("loops-O3"), place.path / "loops.debug");
  const ModuleStructure module = recover(request_for(place.path / "loops-linked"));
  CHECK_FALSE(has_lines(module));
  CHECK_FALSE(module.notes.empty());
}

TEST_CASE("debug files are found by build-id below a given directory") {
  const Place place;
  Request request = request_for(place.path / "loops-linked");
  fs::copy_file(program("loops-linked"), request.path);
  CHECK_FALSE(has_lines(recover(request)));
  std::string why;
  const std::string id = Module::open(request, why)->build_id();
  REQUIRE(id.size() > 8);
  const fs::path directory = place.path / "debug" / ".build-id" / id.substr(0, 2);
  fs::create_directories(directory);
  fs::copy_file(program("loops.debug"), directory / (id.substr(2) + ".debug"));
  request.debug_path = place.path / "debug";
  CHECK(has_lines(recover(request)));
}

#ifdef STRUCTURE_XZ
TEST_CASE("symbols that a stripped library keeps compressed are used") {
  const std::uint64_t hidden = symbol_value(program("libgaps.so"), "hidden");
  const ModuleStructure module = recover_all(program("libgaps-mini.so"), {hidden + 4});
  CHECK(module.procedures.at(0).name == "hidden");
  CHECK(module.procedures.at(0).source == NameSource::symbol);
}
#endif
