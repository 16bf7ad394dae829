#include "recording.hpp"

#include <cerrno>
#include <csignal>

#include <catch2/catch.hpp>
#include <sys/mount.h>
#include <sys/wait.h>

namespace copied_test {

// A file that is not mapped: memory, copied by maintain().
using namespace recording;
using culprit::measurement::EndReason;
using culprit::measurement::LiveFile;
using culprit::measurement::Measurement;
using culprit::measurement::ThreadTree;

namespace {

constexpr std::uint64_t kTurn = 250'000'000;

measurement::ProcessDescription copied_process() {
  auto description = process();
  description.copied = true;
  return description;
}

std::uint64_t samples_of(const Measurement& m) {
  std::uint64_t samples = 0;
  for (const auto& thread : m.threads) {
    for (const auto& cell : thread.cells) samples += cell.samples;
  }
  return samples;
}

void record(ThreadTree& tree, std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t i = from; i < to; ++i) tree.record(insert(tree, {call(i % 50), call(i)}), values(1));
}

}  // namespace

TEST_CASE("a copied file holds at each copy what was recorded until then") {
  const Directory directory;
  const auto path = directory / "a.culprit";
  File file(path, copied_process());
  REQUIRE(file.error() == 0);
  CHECK(file->copied());
  file->module(0, "/m", nullptr, 0, 0);
  ThreadTree& tree = *file->add_thread(1, true, {}, kStart);
  std::uint64_t now = kStart;
  for (std::uint64_t i = 0; i < 30; ++i) {
    record(tree, i * 100, i * 100 + 100);
    now += 1000 * kTurn;  // a copy is due, also if a busy machine made the one before take seconds
    REQUIRE(file->maintain(now) == 0);
    const Measurement m = culprit::measurement::Reader().read(path);
    REQUIRE(invalid(m) == "");
    REQUIRE(samples_of(m) == i * 100 + 100);
    REQUIRE(m.process.end_ns == now);
    REQUIRE(m.cut_short());
  }
  record(tree, 3000, 3050);
  CHECK(samples_of(culprit::measurement::Reader().read(path)) == 3000);
  CHECK(file->seal(EndReason::exit, now + 1) == 0);
  const Measurement m = culprit::measurement::Reader().read(path);
  CHECK(m.sealed);
  CHECK(samples_of(m) == 3050);
}

TEST_CASE("a copied file is complete at exec, and goes on when exec fails") {
  const Directory directory;
  const auto path = directory / "a.culprit";
  File file(path, copied_process());
  file->module(0, "/m", nullptr, 0, 0);
  ThreadTree& tree = *file->add_thread(1, true, {}, kStart);
  record(tree, 0, 10);
  CHECK(file->seal(EndReason::exec, kStart + 1) == 0);
  Measurement m = culprit::measurement::Reader().read(path);
  CHECK(m.process.end == EndReason::exec);
  CHECK(samples_of(m) == 10);
  file->resume();
  record(tree, 10, 20);
  CHECK(file->maintain(kStart + 1000 * kTurn) == 0);
  m = culprit::measurement::Reader().read(path);
  CHECK(m.cut_short());
  CHECK(samples_of(m) == 20);
}

TEST_CASE("a copy that is cut short at any moment is readable") {
  const Directory directory;
  const auto path = directory / "a.culprit";
  const auto torn = directory / "torn.culprit";
  File file(path, copied_process());
  file->module(0, "/m", nullptr, 0, 0);
  ThreadTree& tree = *file->add_thread(1, true, {}, kStart);
  record(tree, 0, 500);
  REQUIRE(file->maintain(kStart + kTurn) == 0);
  auto before = bytes_of(path);
  record(tree, 500, 900);
  REQUIRE(file->maintain(kStart + 1000 * kTurn) == 0);
  const auto after = bytes_of(path);
  before.resize(after.size());  // space is reserved before anything is copied there
  constexpr std::size_t kPage = 4096;
  auto mixed = before;  // pages are written from the end
  for (std::size_t at = after.size(); at > 0; at -= kPage) {
    std::copy_n(after.begin() + static_cast<std::ptrdiff_t>(at - kPage), kPage,
                mixed.begin() + static_cast<std::ptrdiff_t>(at - kPage));
    if (std::equal(mixed.begin(), mixed.end(), before.begin())) continue;
    write_bytes(torn, mixed);
    const Measurement m = culprit::measurement::Reader().read(torn);
    CHECK(invalid(m) == "");
    CHECK(samples_of(m) >= 500);
    CHECK(samples_of(m) <= 900);
  }
  CHECK(mixed == after);
}

TEST_CASE("a process that is killed leaves its last copy") {
  const Directory directory;
  const auto path = directory / "a.culprit";
  const pid_t child = fork();
  if (child == 0) {
    auto* file = new LiveFile;
    if (file->create(path.c_str(), copied_process()) != 0) _exit(1);
    file->module(0, "/m", nullptr, 0, 0);
    ThreadTree* tree = file->add_thread(1, true, {}, kStart);
    record(*tree, 0, 1234);
    if (file->maintain(kStart + 1) != 0) _exit(2);
    record(*tree, 1234, 2000);
    raise(SIGKILL);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  CHECK(samples_of(culprit::measurement::Reader().read(path)) == 1234);
}

TEST_CASE("copying to a disk that fills up gives an errno") {
  const Directory directory;
  if (mount("culprit-test", directory.path().c_str(), "tmpfs", 0, "size=512k") != 0) {
    WARN("skipped: mounting a small tmpfs needs root");
    return;
  }
  int error = 0;
  {
    File file(directory / "a.culprit", copied_process());
    file->module(0, "/m", nullptr, 0, 0);
    ThreadTree& tree = *file->add_thread(1, true, {}, kStart);
    for (std::uint64_t i = 0; error == 0 && i < 100; ++i) {
      record(tree, i * 100, i * 100 + 100);
      error = file->maintain(kStart + i * 1000 * kTurn);
    }
    CHECK(error == ENOSPC);
    (void)file->seal(EndReason::exit, kStart + 1);  // the compact form may fit
    const Measurement m = culprit::measurement::Reader().read(directory / "a.culprit");
    CHECK_FALSE(m.cut_short());
    CHECK(samples_of(m) > 0);
  }
  umount2(directory.path().c_str(), MNT_DETACH);
}

}  // namespace copied_test
