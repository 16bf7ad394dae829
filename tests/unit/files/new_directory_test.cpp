// Directories that tools make.
#include "files/new_directory.hpp"

#include "files/write_failure.hpp"
#include "scratch.hpp"

#include <csignal>

#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <sys/wait.h>

using namespace culprit::files;
namespace fs = std::filesystem;

namespace {

void write_some(const fs::path& directory) {
  fs::create_directory(directory / "inner");
  std::ofstream(directory / "one") << "1";
  std::ofstream(directory / "inner" / "two") << "2";
}

}  // namespace

TEST_CASE("A directory takes its name when it is complete, and is its owner's alone until then") {
  const Scratch scratch;
  {
    NewDirectory made(scratch.path / "out");
    CHECK(mode_of(made.path()) == 0700);
    write_some(made.path());
    CHECK_FALSE(fs::exists(scratch.path / "out"));
    made.finish();
  }
  CHECK(files_in(scratch.path) == 1);
  CHECK(scratch.read("out/inner/two") == "2");
  CHECK((mode_of(scratch.path / "out") & 0700) == 0700);
}

TEST_CASE("Nothing is left of a directory that was not completed") {
  const Scratch scratch;
  { write_some(NewDirectory(scratch.path / "out").path()); }
  CHECK(files_in(scratch.path) == 0);
}

TEST_CASE("A directory replaces nothing and follows no link") {
  const Scratch scratch;
  fs::create_directory(scratch.path / "there");
  fs::create_symlink(scratch.path / "nowhere", scratch.path / "link");
  CHECK_THROWS_AS(NewDirectory(scratch.path / "there"), WriteFailure);
  CHECK_THROWS_AS(NewDirectory(scratch.path / "link"), WriteFailure);
  {
    NewDirectory made(scratch.path / "out");
    scratch.write("out", "somebody was faster");
    CHECK_THROWS_AS(made.finish(), WriteFailure);
  }
  CHECK(scratch.read("out") == "somebody was faster");
  CHECK(files_in(scratch.path) == 3);
}

TEST_CASE("A signal removes a directory with all that is in it") {
  const Scratch scratch;
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGTERM, SIG_DFL);
    put_right_at_death("tool");
    const NewDirectory made(scratch.path / "out");
    write_some(made.path());
    std::raise(SIGTERM);
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM));
  CHECK(files_in(scratch.path) == 0);
}
