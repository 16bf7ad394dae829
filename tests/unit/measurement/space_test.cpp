#include "recording.hpp"

#include <cerrno>
#include <csignal>
#include <fstream>

#include <catch2/catch.hpp>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

namespace space_test {

using namespace recording;
using culprit::measurement::EndReason;
using culprit::measurement::LiveFile;
using culprit::measurement::Measurement;
using culprit::measurement::ThreadTree;

namespace {

// A file system of a given size, for as long as it lives.
class SmallDisk {
 public:
  explicit SmallDisk(const char* size) {
    mounted_ = mount("culprit-test", directory_.path().c_str(), "tmpfs", 0,
                     (std::string("size=") + size).c_str()) == 0;
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (mounted_) umount2(directory_.path().c_str(), MNT_DETACH);
  }
  [[nodiscard]] bool mounted() const { return mounted_; }
  [[nodiscard]] std::filesystem::path operator/(const char* name) const { return directory_ / name; }

 private:
  Directory directory_;
  bool mounted_ = false;
};

// Runs in a child process, since a limit or a signal would hit the whole test; returns its status.
template <typename Body>
int in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return status;
}

}  // namespace

TEST_CASE("a full disk gives an errno, never a signal, and loses nothing that was recorded") {
  const SmallDisk disk("1m");
  if (!disk.mounted()) {
    WARN("skipped: mounting a small tmpfs needs root");
    return;
  }
  File file(disk / "a.culprit", process());
  REQUIRE(file.error() == 0);
  file->module(0, "/m", nullptr, 0, 0);
  ThreadTree& tree = *file->add_thread(1, true, {}, kStart);
  std::uint64_t recorded = 0;
  int error = 0;
  while (error == 0) {
    tree.record(insert(tree, {call(recorded % 50), call(recorded)}), values(1));
    if (++recorded % 100 == 0) error = file->maintain(kStart + recorded);
    REQUIRE(recorded < 1'000'000);
  }
  CHECK(error == ENOSPC);
  for (int i = 0; i < 100'000; ++i, ++recorded) tree.record(insert(tree, {call(recorded)}), values(1));
  CHECK(file->maintain(kStart + recorded) == ENOSPC);
  std::size_t threads = 1;  // the blocks of threads are smaller: some may still find room
  while (file->add_thread(threads, false, {}, kStart) != nullptr) ++threads;
  CHECK(file->seal(EndReason::exit, kStart + 1) == ENOSPC);
  CHECK_FALSE(std::filesystem::exists(disk / "a.culprit.tmp"));
  const Measurement m = culprit::measurement::Reader().read(disk / "a.culprit");
  CHECK(invalid(m) == "");
  CHECK_FALSE(m.cut_short());
  REQUIRE(m.threads.size() == threads);
  std::uint64_t samples = 0;
  for (const auto& cell : m.threads[0].cells) samples += cell.samples;
  CHECK(samples == recorded);
  CHECK(m.threads[0].quality.full > 0);
  REQUIRE(m.process.notes.size() == 1);
  CHECK(m.process.notes[0].substr(0, 12) == "1 thread was");
}

TEST_CASE("a disk without room for a file leaves none behind") {
  const SmallDisk disk("128k");
  if (!disk.mounted()) {
    WARN("skipped: mounting a small tmpfs needs root");
    return;
  }
  const File file(disk / "a.culprit", process());
  CHECK(file.error() == ENOSPC);
  CHECK_FALSE(std::filesystem::exists(disk / "a.culprit"));
}

TEST_CASE("a file-size limit gives EFBIG and no SIGXFSZ") {
  const Directory directory;
  const int status = in_child([&] {
    const rlimit limit{.rlim_cur = 512 * 1024, .rlim_max = 512 * 1024};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    auto* file = new LiveFile;
    if (file->create((directory / "a.culprit").c_str(), process()) != 0) return 2;
    ThreadTree* tree = file->add_thread(1, true, {}, kStart);
    if (tree == nullptr) return 3;
    int error = 0;
    for (std::uint64_t i = 0; i < 100'000 && error == 0; ++i) {
      tree->record(insert(*tree, {call(i)}), values(1));
      if (i % 100 == 0) error = file->maintain(kStart + i);
    }
    if (error != EFBIG) return 4;
    return file->seal(EndReason::exit, kStart) == 0 ? 0 : 5;
  });
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(culprit::measurement::Reader().read(directory / "a.culprit").sealed);
}

TEST_CASE(
    "space is reserved for blocks to come where threads are many, and to the last granule where it is "
    "tight") {
  const Directory directory(scratch());
  const auto path = directory / "a.culprit";
  constexpr std::uint64_t kGranule = 65536;
  constexpr std::uint64_t kLimit = 300 * kGranule;
  const int status = in_child([&] {
    const rlimit limit{.rlim_cur = kLimit, .rlim_max = kLimit};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    auto* file = new LiveFile;
    if (file->create(path.c_str(), process()) != 0) return 2;
    file->module(0, "/m", nullptr, 0, 0);
    std::uint64_t threads = 0;
    std::uint64_t growths = 0;
    for (std::uint64_t size = 0;; ++threads) {
      ThreadTree* tree = file->add_thread(threads + 1, threads == 0, {}, kStart);
      if (tree == nullptr) break;
      tree->record(insert(*tree, {call(threads)}), values(threads + 1));
      const std::uint64_t after = std::filesystem::file_size(path);
      growths += after != size ? 1 : 0;
      size = after;
    }
    if (std::filesystem::file_size(path) != kLimit) return 3;
    return threads > 280 && growths + 15 < threads ? 0 : 4;
  });
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) == 0);
  const Measurement m = culprit::measurement::Reader().read(path);
  REQUIRE(m.threads.size() > 280);
  for (std::size_t i = 0; i < m.threads.size(); ++i) CHECK(m.threads[i].cells.at(0).time_ns == i + 1);
}

TEST_CASE("a tight address space is left to the program") {
  const Directory directory;
#if defined(__SANITIZE_ADDRESS__)
  WARN("skipped: AddressSanitizer itself takes the address space");
#else
  const int status = in_child([&] {
    std::uint64_t pages = 0;  // what this process has mapped already, which is more with every test before
    std::ifstream("/proc/self/statm") >> pages;
    // Each thread takes a part of the whole limit: as much again must be free as is mapped.
    const rlim_t bytes = 2 * pages * 4096 + (std::uint64_t{256} << 20);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = bytes};
    if (setrlimit(RLIMIT_AS, &limit) != 0) return 1;
    auto* file = new LiveFile;
    if (file->create((directory / "a.culprit").c_str(), process()) != 0) return 2;
    for (std::uint64_t i = 0; i < 20; ++i) {  // twenty full reservations would be 1 280 MiB
      if (file->add_thread(i, i == 0, {}, kStart) == nullptr) return 3;
    }
    return file->seal(EndReason::exit, kStart) == 0 ? 0 : 4;
  });
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(culprit::measurement::Reader().read(directory / "a.culprit").threads.size() == 20);
#endif
}

}  // namespace space_test
