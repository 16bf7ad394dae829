#include "request/open_database.hpp"

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <catch2/catch.hpp>
#include <unistd.h>

namespace culprit::viewer::testing {
namespace {

namespace fs = std::filesystem;

/// A directory of its own, removed at the end.
struct Place {
  fs::path path = fs::temp_directory_path() / ("culprit-viewer-test-" + std::to_string(::getpid()));
  Place() { fs::create_directory(path); }
  ~Place() { fs::remove_all(path); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
};

std::string refusal(const fs::path& path) {
  try {
    open_database(path.string(), {}, true);
  } catch (const std::exception& error) {
    return error.what();
  }
  FAIL("opened " << path);
  return {};
}

}  // namespace

TEST_CASE("What is no database is refused in one line that names it and says what to do") {
  const Place place;
  fs::create_directory(place.path / "empty");
  fs::create_directory(place.path / "foreign");
  std::ofstream(place.path / "foreign" / "notes.txt") << "hello";
  std::ofstream(place.path / "garbage.db") << std::string(10'000, 'x');
  std::ofstream(place.path / "nothing.db") << "";
  for (const char* name : {"absent", "empty", "foreign", "garbage.db", "nothing.db"}) {
    const std::string why = refusal(place.path / name);
    INFO(why);
    CHECK(why.find(name) != std::string::npos);
    CHECK(why.find('\n') == std::string::npos);
    CHECK(why.find('(') != std::string::npos);
  }
  CHECK_FALSE(fs::exists(place.path / "empty.db"));
  CHECK_FALSE(fs::exists(place.path / "foreign.db"));
}

TEST_CASE("A file below a file is refused too") {
  const Place place;
  std::ofstream(place.path / "file") << "x";
  CHECK(refusal(place.path / "file" / "run").find("open: ") == 0);
}

}  // namespace culprit::viewer::testing
