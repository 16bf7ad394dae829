// What is opened because an input names it.
#include "files/named_file.hpp"

#include "scratch.hpp"

#include <catch2/catch.hpp>

using namespace culprit::files;

namespace {

std::error_code refusal(const std::filesystem::path& path) {
  std::error_code error;
  CHECK(read_named(path, 10, error).empty());
  return error;
}

}  // namespace

TEST_CASE("Only regular files that hold something, and not too much, are read") {
  const Scratch scratch;
  std::error_code error;
  CHECK(read_named(scratch.write("text", "0123456789"), 10, error) == "0123456789");
  CHECK_FALSE(error);
  REQUIRE(::mkfifo((scratch.path / "fifo").c_str(), 0600) == 0);
  CHECK(refusal(scratch.path / "fifo") == std::errc::invalid_argument);
  CHECK(refusal("/dev/zero") == std::errc::invalid_argument);
  CHECK(refusal(scratch.path) == std::errc::is_a_directory);
  CHECK(refusal(scratch.path / "absent") == std::errc::no_such_file_or_directory);
  CHECK(refusal(scratch.write("large", "0123456789a")) == std::errc::file_too_large);
  CHECK(refusal(scratch.write("empty", "")) == std::errc::no_message);
  CHECK(refusal("/proc/self/status") == std::errc::no_message);
}
