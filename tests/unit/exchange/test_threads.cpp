#include "exchange/shared_file.hpp"
#include "exchange/threads.hpp"
#include "suite.hpp"

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include <catch2/catch.hpp>
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

TEST_CASE("a failure ends every rank, and it is the one that is told", "[threads]") {
  for (const int ranks : {1, 2, 3, 7}) {
    for (int failing = 0; failing < ranks; ++failing) {
      std::atomic<int> told{0}, told_again{0};
      const auto work = [&](Communicator& comm) {
        try {
          suite::fail(comm, failing);
        } catch (const PeerFailed&) {
          ++told;
          try {
            comm.barrier();  // later operations fail too
          } catch (const PeerFailed&) {
            ++told_again;
          }
          throw;
        }
      };
      CHECK_THROWS_WITH(run_on_threads(ranks, work), "rank " + std::to_string(failing) + " cannot go on");
      CHECK(told == ranks - 1);
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

TEST_CASE("a full disk is an error of the write", "[threads]") {
  if (::access("/dev/full", W_OK) != 0) return;
  const auto work = [](Communicator& comm) { comm.create_file("/dev/full")->write_at(0, Bytes(10)); };
  try {
    run_on_threads(1, work);
    FAIL("written to a full disk");
  } catch (const std::system_error& error) {
    CHECK(error.code() == std::errc::no_space_on_device);
  }
}
