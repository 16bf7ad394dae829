#include "measurement/find.hpp"
#include "recording.hpp"

#include <catch2/catch.hpp>

namespace directory_test {

using namespace recording;
using culprit::measurement::MeasurementError;

namespace fs = std::filesystem;

namespace {

std::vector<fs::path> measurements_in(const fs::path& directory) {
  std::vector<fs::path> found;
  culprit::measurement::for_each_measurement(directory, [&](const fs::path& path) { found.push_back(path); });
  return found;
}

std::string why(const fs::path& directory) {
  try {
    measurements_in(directory);
  } catch (const MeasurementError& error) {
    CHECK(error.path() == directory);
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("measurements are found in the directory and its shards, sorted, and nothing else") {
  const Directory directory;
  for (const char* shard : {"0a", "ff", "zz", "0A", "abc"}) {
    fs::create_directories(directory / shard);
    write_bytes(directory / shard / "rank.culprit", {'x'});
  }
  fs::create_directories(directory / "0a" / "00");
  write_bytes(directory / "0a" / "00" / "deeper.culprit", {'x'});
  write_bytes(directory / "0a" / "another.culprit", {'x'});
  write_bytes(directory / "0a" / "rank.culprit.tmp", {'x'});
  write_bytes(directory / "top.culprit", {'x'});
  write_bytes(directory / "culprit.run", {'{', '}'});
  write_bytes(directory / "ab", {'x'});
  CHECK(measurements_in(directory.path()) ==
        std::vector<fs::path>{directory / "0a" / "another.culprit", directory / "0a" / "rank.culprit",
                              directory / "ff" / "rank.culprit", directory / "top.culprit"});
}

TEST_CASE("what only bears the name of a measurement is listed: it is said to be none where it is read") {
  const Directory directory;
  fs::create_directories(directory / "0a" / "directory.culprit");
  fs::create_symlink("nowhere", directory / "link.culprit");
  const auto found = measurements_in(directory.path());
  CHECK(found == std::vector<fs::path>{directory / "0a" / "directory.culprit", directory / "link.culprit"});
}

TEST_CASE("a directory is a measurement directory by its marker or by its measurements") {
  const Directory directory;
  CHECK(why(directory.path()) == "is not a measurement directory (name the one that hpcrun-lite wrote)");
  write_bytes(directory / "culprit.run", {'{', '}'});
  CHECK(measurements_in(directory.path()).empty());
  fs::remove(directory / "culprit.run");
  write_bytes(directory / "a.culprit", {'x'});
  CHECK(measurements_in(directory.path()).size() == 1);
  CHECK(why(directory / "nowhere") == "does not exist (name the directory that hpcrun-lite wrote)");
  CHECK(why(directory / "a.culprit") == "is not a directory (name the directory that hpcrun-lite wrote)");
}

}  // namespace directory_test
