#include "measurement/find.hpp"
#include "recording.hpp"

#include <csignal>

#include <catch2/catch.hpp>
#include <sys/mman.h>
#include <sys/wait.h>

namespace death_test {

using namespace recording;
using culprit::measurement::EndReason;
using culprit::measurement::LiveFile;
using culprit::measurement::Measurement;
using culprit::measurement::ThreadTree;

namespace {

// Progress that survives the child.
struct Progress {
  std::atomic<std::uint64_t> begun;
  std::atomic<std::uint64_t> done;
};

Progress* shared_progress() {
  void* memory = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  return new (memory) Progress{};
}

[[noreturn]] void record_for_ever(const std::filesystem::path& path, Progress& progress) {
  auto* file = new LiveFile;
  if (file->create(path.c_str(), process()) != 0) _exit(1);
  file->module(0, "/m", nullptr, 0, 0);
  ThreadTree* tree = file->add_thread(1, true, {}, kStart);
  for (std::uint64_t i = 0;; ++i) {
    const auto step = i + 1;
    progress.begun = step;
    tree->record(insert(*tree, {call(i % 97), call(i % 89), call(i), sample(i % 3)}), values(1));
    progress.done = step;
    if (i % 100 == 0) file->maintain(kStart + i);
  }
}

std::uint64_t samples_of(const Measurement& m) {
  std::uint64_t samples = 0;
  for (const auto& thread : m.threads) {
    for (const auto& cell : thread.cells) samples += cell.samples;
  }
  return samples;
}

}  // namespace

TEST_CASE("a process that is killed at any moment leaves everything up to its last record") {
  const Directory directory;
  for (int round = 0; round < 25; ++round) {
    const auto path = directory / (std::to_string(round) + ".culprit");
    Progress* progress = shared_progress();
    const pid_t child = fork();
    if (child == 0) record_for_ever(path, *progress);
    REQUIRE(child > 0);
    // Kill at points that differ in progress, not in time: the machine may be busy.
    const std::uint64_t when = static_cast<std::uint64_t>(round) * static_cast<std::uint64_t>(round) * 37;
    while (progress->done < when && kill(child, 0) == 0) usleep(50);
    REQUIRE(kill(child, SIGKILL) == 0);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    if (progress->begun ==
        0) {  // killed while the file was created: a measurement without threads, or one clear error
      try {
        const std::uint64_t samples = samples_of(culprit::measurement::Reader().read(path));
        CHECK(samples == 0);
      } catch (const culprit::measurement::MeasurementError&) {
        SUCCEED();
      }
    } else {
      const Measurement m = culprit::measurement::Reader().read(path);
      CHECK(invalid(m) == "");
      CHECK(m.cut_short());
      CHECK(samples_of(m) >= progress->done);
      CHECK(samples_of(m) <= progress->begun);
    }
    munmap(progress, sizeof *progress);
  }
}

TEST_CASE("a process that is killed while it seals leaves a readable measurement") {
  const Directory directory;
  for (int round = 0; round < 20; ++round) {
    const auto path = directory / (std::to_string(round) + ".culprit");
    Progress* progress = shared_progress();
    const pid_t child = fork();
    if (child == 0) {
      auto* file = new LiveFile;
      if (file->create(path.c_str(), process()) != 0) _exit(1);
      file->module(0, "/m", nullptr, 0, 0);
      ThreadTree* tree = file->add_thread(1, true, {}, kStart);
      for (std::uint64_t i = 0; i < 20'000; ++i) {
        if (i % 200 == 0) file->maintain(kStart);
        tree->record(insert(*tree, {call(i % 7), call(i)}), values(1));
      }
      progress->done = 1;
      file->seal(EndReason::exit, kStart + 1);
      _exit(0);
    }
    while (progress->done == 0) usleep(20);
    usleep(static_cast<useconds_t>(round) * 150);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const Measurement m = culprit::measurement::Reader().read(path);
    CHECK(invalid(m) == "");
    CHECK(samples_of(m) == 20'000);
    munmap(progress, sizeof *progress);
  }
  culprit::measurement::for_each_measurement(directory.path(), [](const std::filesystem::path& path) {
    CHECK(path.extension() == ".culprit");  // what was left of a seal is not taken for a measurement
  });
}

TEST_CASE("a forked child forgets its parent's file and may write its own") {
  const Directory directory;
  File file(directory / "parent.culprit", process());
  ThreadTree* tree = file->add_thread(1, true, {}, kStart);
  tree->record(tree->program_root(), values(5));
  const pid_t child = fork();
  if (child == 0) {
    file->forget();
    bool good = !file->open() && file->create((directory / "child.culprit").c_str(), process()) == 0;
    ThreadTree* mine = good ? file->add_thread(2, true, {}, kStart) : nullptr;
    if (mine != nullptr) mine->record(mine->program_root(), values(9));
    good = mine != nullptr && file->seal(EndReason::exit, kStart + 1) == 0;
    _exit(good ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  tree->record(tree->program_root(), values(5));
  CHECK(file->maintain(kStart + 3) == 0);
  CHECK(culprit::measurement::Reader().read(directory / "parent.culprit").threads.at(0).cells.at(0).time_ns ==
        10);
  CHECK(culprit::measurement::Reader().read(directory / "child.culprit").threads.at(0).cells.at(0).time_ns ==
        9);
}

}  // namespace death_test
