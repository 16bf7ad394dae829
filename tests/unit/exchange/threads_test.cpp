#include "exchange/threads.hpp"

#include "exchange/shared_file.hpp"
#include "suite.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include <catch2/catch.hpp>
#include <sys/resource.h>
#include <unistd.h>

using namespace culprit::exchange;

namespace {

/// A directory of this test's own, removed at the end.
struct TemporaryDirectory {
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "culprit-exchange-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), name);
    path = name;
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  std::filesystem::path path;
};

}  // namespace

TEST_CASE("every operation on threads", "[threads]") {
  const TemporaryDirectory directory;
  for (const int ranks : {1, 2, 3, 7}) {
    DYNAMIC_SECTION(ranks << " ranks") {
      std::atomic<int> done{0};
      run_on_threads(ranks, [&](Communicator& comm) {
        suite::run(comm, 100000, directory.path);
        ++done;
      });
      CHECK(done == ranks);
    }
  }
}

TEST_CASE("a failure ends every rank and is the one reported", "[threads]") {
  for (const int ranks : {1, 2, 3, 7}) {
    for (int failing = 0; failing < ranks; ++failing) {
      std::atomic<int> reported{0}, told_again{0};
      const auto work = [&](Communicator& comm) {
        try {
          suite::fail(comm, failing);
        } catch (const PeerFailed&) {
          ++reported;
          try {
            comm.barrier();  // later operations fail too
          } catch (const PeerFailed&) {
            ++told_again;
          }
          throw;
        }
      };
      CHECK_THROWS_WITH(run_on_threads(ranks, work), "rank " + std::to_string(failing) + " cannot go on");
      CHECK(reported == ranks - 1);
      CHECK(told_again == ranks - 1);
    }
  }
}

TEST_CASE("waiting for a rank that has ended is an error, not a hang", "[threads]") {
  const auto work = [](Communicator& comm) {
    if (comm.rank() == 0) (void)comm.receive(1, 7);
  };
  CHECK_THROWS_WITH(run_on_threads(2, work), Catch::Contains("rank 1 ended"));
}

TEST_CASE("one rank runs on the calling thread", "[threads]") {
  std::thread::id id;
  run_on_threads(1, [&](Communicator&) { id = std::this_thread::get_id(); });
  CHECK(id == std::this_thread::get_id());
  CHECK_THROWS_AS(run_on_threads(0, [](Communicator&) {}), ExchangeError);
}

TEST_CASE("what cannot be written is an error that names the file and says why", "[threads]") {
  const TemporaryDirectory scratch;
  const struct rlimit small = {.rlim_cur = 4096, .rlim_max = RLIM_INFINITY};
  struct rlimit before {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  void (*const handler)(int) = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  std::string why;
  try {
    run_on_threads(2, [&](Communicator& comm) {
      const auto file = comm.create_file(scratch.path / "out");
      if (comm.rank() == 1) file->write_at(0, Bytes(5000));
    });
  } catch (const std::system_error& error) {
    why = error.what();
    CHECK(error.code() == std::errc::file_too_large);
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(why.starts_with("write: " + (scratch.path / "out").string() + ": "));
  CHECK(why.find("4096 bytes") != std::string::npos);
}

TEST_CASE("only what did not exist is written, and no link is followed", "[threads]") {
  const TemporaryDirectory scratch;
  const std::filesystem::path victim = scratch.path / "victim";
  std::ofstream(victim) << "precious";
  std::filesystem::create_symlink(victim, scratch.path / "link");
  std::filesystem::create_symlink(scratch.path / "nothing", scratch.path / "dangling");
  for (const char* name : {"victim", "link", "dangling"}) {
    INFO(name);
    const auto work = [&](Communicator& comm) { (void)comm.create_file(scratch.path / name); };
    CHECK_THROWS_AS(run_on_threads(2, work), std::system_error);
  }
  CHECK_FALSE(std::filesystem::exists(scratch.path / "nothing"));
  std::ifstream in(victim);
  CHECK(std::string(std::istreambuf_iterator<char>(in), {}) == "precious");
}
