// Files that tools make.
#include "files/new_file.hpp"

#include "files/write_failure.hpp"
#include "scratch.hpp"

#include <cerrno>
#include <csignal>
#include <cstddef>

#include <catch2/catch.hpp>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace culprit::files;
namespace fs = std::filesystem;

TEST_CASE("A file takes its name when it is complete, and is its owner's alone until then") {
  const Scratch scratch;
  scratch.write("out", "old");
  {
    NewFile file(scratch.path / "out");
    file.write("new");
    struct stat status {};
    REQUIRE(::fstat(file.descriptor(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
    CHECK(scratch.read("out") == "old");
    file.finish();
  }
  CHECK(scratch.read("out") == "new");
  CHECK(mode_of(scratch.path / "out") == (0666 & ~mask_of_modes()));
  { NewFile(scratch.path / "out").write("never finished"); }
  CHECK(scratch.read("out") == "new");
  CHECK(files_in(scratch.path) == 1);
}

TEST_CASE("A link of the file's name is replaced, not followed") {
  const Scratch scratch;
  scratch.write("victim", "precious");
  fs::create_symlink("victim", scratch.path / "out");
  NewFile file(scratch.path / "out");
  file.write("new");
  file.finish();
  CHECK(scratch.read("victim") == "precious");
  CHECK_FALSE(fs::is_symlink(scratch.path / "out"));
}

TEST_CASE("Nobody reads what he could not read of the inputs") {
  const Scratch scratch;
  const fs::path secret = scratch.write("secret", "x");
  fs::permissions(secret, fs::perms(0600));
  Readership readers;
  readers.restrict_to(secret, scratch.path);
  NewFile file(scratch.path / "out");
  file.finish(readers);
  CHECK(mode_of(scratch.path / "out") == 0600);
}

TEST_CASE("What somebody put in the place of a new file is not written to") {
  const Scratch scratch;
  scratch.write("victim", "precious");
  CHECK(open_created(scratch.path / "victim").good());
  fs::create_symlink("victim", scratch.path / "link");
  CHECK_FALSE(open_created(scratch.path / "link").good());
  fs::create_hard_link(scratch.path / "victim", scratch.path / "second");
  CHECK_FALSE(open_created(scratch.path / "second").good());
  REQUIRE(::mkfifo((scratch.path / "fifo").c_str(), 0600) == 0);
  CHECK_FALSE(open_created(scratch.path / "fifo").good());
}

TEST_CASE("A limit on file sizes is an error that names the file and the limit") {
  const Scratch scratch;
  struct rlimit before {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  struct rlimit small = before;
  small.rlim_cur = 1000;
  void (*const handler)(int) = std::signal(SIGXFSZ, SIG_IGN);
  std::string why;
  ::setrlimit(RLIMIT_FSIZE, &small);
  try {
    NewFile(scratch.path / "out").write(std::string(2000, 'x'));
  } catch (const WriteFailure& failure) {
    why = failure.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(why == "write: " + (scratch.path / "out").string() +
                   ": File too large (the limit on file sizes is 1000 bytes: raise it with ulimit -f)");
  CHECK(files_in(scratch.path) == 0);
}

TEST_CASE("Where descriptors are used up, another place is no remedy") {
  CHECK(WriteFailure("out", EMFILE).why() ==
        "Too many open files (raise the limit on open files with ulimit -n)");
}
