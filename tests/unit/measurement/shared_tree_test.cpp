#include "recording.hpp"

#include <numeric>
#include <thread>

#include <catch2/catch.hpp>

namespace shared_tree_test {

using namespace recording;
using culprit::measurement::EndReason;
using culprit::measurement::kEndedTrees;
using culprit::measurement::Measurement;
using culprit::measurement::ThreadTree;

namespace {

constexpr std::uint64_t kLife = 1000;

struct Sums {
  std::uint64_t threads = 0, lives = 0, lived = 0, time = 0, samples = 0;
};

Sums sums_of(const Measurement& m, const cct::FrameKey& routine) {
  Sums sums;
  for (const auto& thread : m.threads) {
    if (thread.start_routine != routine) continue;
    ++sums.threads;
    sums.lives += thread.lives;
    sums.lived += thread.lived_ns;
    sums.samples += thread.quality.samples;
    for (const auto& cell : thread.cells) sums.time += cell.time_ns;
  }
  return sums;
}

/// One thread's life: `samples` samples, from start to start + kLife.
void live(File& file, std::uint64_t tid, cct::FrameKey routine, std::uint64_t start, std::uint64_t samples) {
  ThreadTree* tree = file->add_thread(tid, false, routine, start);
  REQUIRE(tree != nullptr);
  for (std::uint64_t i = 0; i < samples; ++i)
    tree->record(insert(*tree, {routine, sample(i % 5)}), values(7));
  tree->life().finish(start + kLife);
}

}  // namespace

TEST_CASE("ten thousand short threads share some trees and lose nothing") {
  const Directory directory(scratch());
  for (const bool seal : {false, true}) {
    const auto path = directory / (seal ? "sealed.culprit" : "live.culprit");
    File file(path, process());
    file->module(0, "/m", nullptr, 0, 0);
    constexpr std::uint64_t kThreads = 10'000;
    for (std::uint64_t i = 0; i < kThreads; ++i) live(file, i, call(i % 2), kStart + i * kLife, i % 4);
    if (seal) REQUIRE(file->seal(EndReason::exit, kStart + kThreads * kLife) == 0);
    const Measurement m = culprit::measurement::Reader().read(path);
    CHECK(invalid(m) == "");
    for (const std::uint64_t routine : {0, 1}) {
      const Sums sums = sums_of(m, call(routine));
      CHECK(sums.threads == kEndedTrees);
      CHECK(sums.lives == kThreads / 2);
      CHECK(sums.lived == kThreads / 2 * kLife);
      CHECK(sums.samples == (routine == 0 ? 5'000 : 10'000));
      CHECK(sums.time == 7 * sums.samples);
    }
    REQUIRE(m.process.notes.size() == 1);
    CHECK(m.process.notes[0].substr(0, 40) == "10000 threads were recorded as 128: one ");
  }
}

TEST_CASE("a tree is taken over only after its thread ended, and spans its threads' lives") {
  const Directory directory(scratch());
  const auto path = directory / "a.culprit";
  File file(path, process());
  std::vector<ThreadTree*> trees;
  for (std::uint64_t i = 0; i < kEndedTrees + 5; ++i)
    trees.push_back(file->add_thread(i, false, call(1), kStart));
  for (std::uint64_t i = 0; i < kEndedTrees - 1; ++i) trees[i]->life().finish(kStart + 10);
  const ThreadTree* own = file->add_thread(900, false, call(1), kStart + 20);
  CHECK(own == file->thread(kEndedTrees + 5));
  trees[kEndedTrees]->life().finish(kStart + 30);
  const ThreadTree* other_routine = file->add_thread(901, false, call(2), kStart + 40);
  CHECK(other_routine == file->thread(kEndedTrees + 6));
  CHECK_FALSE(trees[kEndedTrees]->life().usable());
  CHECK(file->add_thread(902, false, call(1), kStart + 50) == trees[kEndedTrees]);
  CHECK(trees[kEndedTrees]->life().usable());
  const ThreadTree* last = file->add_thread(903, false, call(1), kStart + 60);
  CHECK(last == file->thread(kEndedTrees + 7));
  file->maintain(kStart + 100);
  const Measurement m = culprit::measurement::Reader().read(path);
  const auto& shared = m.threads.at(kEndedTrees);
  CHECK(shared.tid == 902);
  CHECK(shared.lives == 2);
  CHECK(shared.start_ns == kStart);
  CHECK(shared.end_ns == kStart + 100);
  CHECK(shared.lived_ns == 30 + 50);
}

TEST_CASE("where no tree is left, an ended one of the same start routine is shared at once") {
  const Directory directory(scratch());
  File file(directory / "a.culprit", process());
  for (std::size_t i = 0; i < culprit::measurement::kMaxThreads; ++i) {
    ThreadTree* tree = file->add_thread(i, false, call(i), kStart);
    REQUIRE(tree != nullptr);
    if (i == 3) tree->life().finish(kStart + 1);
  }
  CHECK(file->add_thread(5000, false, call(4), kStart) == nullptr);
  CHECK(file->add_thread(5001, false, call(3), kStart) == file->thread(3));
}

TEST_CASE("threads that start and end at the same time never share a tree") {
  const Directory directory(scratch());
  const auto path = directory / "a.culprit";
  File file(path, process());
  file->module(0, "/m", nullptr, 0, 0);
  constexpr std::uint64_t kEach = 2'000;
  const auto body = [&file](std::uint64_t worker) {
    for (std::uint64_t i = 0; i < kEach; ++i) {
      bool again = false;
      ThreadTree* tree = file->add_thread(worker, false, call(1), kStart, again);
      if (tree == nullptr) abort();
      for (int s = 0; s < 3; ++s) tree->record(insert(*tree, {call(worker), sample(i % 11)}), values(1));
      tree->life().finish(kStart + kLife);
    }
  };
  std::vector<std::thread> workers;
  for (std::uint64_t worker = 0; worker < 4; ++worker) workers.emplace_back(body, worker);
  for (auto& worker : workers) worker.join();
  const Measurement m = culprit::measurement::Reader().read(path);
  CHECK(invalid(m) == "");
  const Sums sums = sums_of(m, call(1));
  CHECK(sums.lives == 4 * kEach);
  CHECK(sums.time == 12 * kEach);
  CHECK(sums.samples == 12 * kEach);
  // A look for an ended tree passes those that others end behind it and misses those that others take
  // before it, so that it may add one tree more than a look at a single moment would.
  CHECK(sums.threads < 2 * kEndedTrees);
}

}  // namespace shared_tree_test
