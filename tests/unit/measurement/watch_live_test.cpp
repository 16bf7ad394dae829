#include "measurement/watch_live.hpp"

#include "damaged_file.hpp"
#include "recording.hpp"

#include <random>

#include <catch2/catch.hpp>

namespace watch_live_test {

using namespace recording;
using culprit::measurement::Gain;
using culprit::measurement::LiveWatch;
using culprit::measurement::MeasurementError;
using culprit::measurement::ThreadTree;
using culprit::measurement::WaitKind;
using culprit::measurement::WatchedThread;

namespace {

constexpr std::uint64_t kTid = 4711;

/// The offsets of the frames from the root to a context.
std::vector<std::uint64_t> offsets(const WatchedThread& thread, std::uint32_t context) {
  std::vector<std::uint64_t> path;
  for (; context != 0; context = thread.contexts[context].parent)
    path.insert(path.begin(), thread.contexts[context].frame.offset);
  return path;
}

std::int64_t all(const WatchedThread& thread) {
  std::int64_t sum = 0;
  for (const Gain& gain : thread.gains) sum += gain.time_ns;
  return sum;
}

/// Whether parents come before their children, and all that names a context names one.
bool are_valid(const std::vector<WatchedThread>& threads) {
  for (const WatchedThread& thread : threads) {
    const std::size_t contexts = thread.contexts.size();
    for (std::size_t at = 1; at < contexts; ++at)
      if (thread.contexts[at].parent >= at) return false;
    for (const Gain& gain : thread.gains)
      if (gain.context >= contexts) return false;
    for (const auto& count : thread.calls)
      if (count.context >= contexts) return false;
  }
  return true;
}

/// A process with one thread, after the first look.
struct Watched {
  const Directory directory;
  const std::filesystem::path path = directory / "a.culprit";
  File file = File(path, process());
  ThreadTree* const tree = file->add_thread(kTid, true, {}, kStart);
  LiveWatch watch = LiveWatch(path.string());
  LiveWatch::Scratch scratch;
  const bool looked = watch.look(scratch, 0);
};

}  // namespace

TEST_CASE("a watched measurement gains what was recorded since the look before") {
  Watched watched;
  auto& [directory, path, file, tree, watch, scratch, looked] = watched;
  REQUIRE(looked);
  CHECK(watch.host() == "node17");
  CHECK(watch.process().key == kKey);
  REQUIRE(watch.threads().size() == 1);
  CHECK(watch.threads()[0].gains.empty());

  const auto node = insert(*tree, {call(0x10), sample(0x20)});
  tree->record(node, values(5'000'000));
  REQUIRE(watch.look(scratch, 0));
  REQUIRE(watch.threads()[0].gains.size() == 1);
  const Gain gain = watch.threads()[0].gains[0];
  CHECK(gain.time_ns == 5'000'000);
  CHECK(gain.cpu_ns == 2'500'000);
  CHECK(gain.marked_ns == 0);
  CHECK(offsets(watch.threads()[0], gain.context) == std::vector<std::uint64_t>{0, 0x10, 0x20});

  REQUIRE(watch.look(scratch, 0));
  CHECK(watch.threads()[0].gains.empty());
  tree->record(node, values(1'000'000));
  tree->record(insert(*tree, {call(0x10), sample(0x24)}), values(2'000'000));
  REQUIRE(watch.look(scratch, 0));
  CHECK(watch.threads()[0].gains.size() == 2);
  CHECK(all(watch.threads()[0]) == 3'000'000);
}

TEST_CASE("a wait that goes on counts up to the heartbeat and is given back at its end") {
  const Directory directory;
  const auto path = directory / "a.culprit";
  File file(path, process());
  ThreadTree* const tree = file->add_thread(kTid, true, {}, kStart);
  const auto node = insert(*tree, {call(0x10)});
  tree->life().begin_wait(node, kStart + 1'000, WaitKind::mpi);
  file->maintain(kStart + 501'000);
  LiveWatch watch(path);
  LiveWatch::Scratch scratch;
  REQUIRE(watch.look(scratch, 0));
  REQUIRE(watch.threads()[0].gains.size() == 1);
  CHECK(watch.threads()[0].gains[0].time_ns == 500'000);
  CHECK(watch.threads()[0].gains[0].marked_ns == 500'000);
  file->maintain(kStart + 701'000);
  REQUIRE(watch.look(scratch, 0));
  CHECK(all(watch.threads()[0]) == 200'000);
  tree->life().end_wait();
  auto waited = values(800'000);
  waited.mark = WaitKind::mpi;
  waited.blocked = true;
  tree->record(node, waited);
  REQUIRE(watch.look(scratch, 0));
  CHECK(all(watch.threads()[0]) == 100'000);
}

TEST_CASE("a wait is not charged while its thread's values change") {
  namespace layout = culprit::measurement::layout;
  const Directory directory;
  const auto path = directory / "a.culprit";
  File file(path, process());
  ThreadTree* const tree = file->add_thread(kTid, true, {}, kStart);
  tree->life().begin_wait(insert(*tree, {call(0x10)}), kStart + 1'000, WaitKind::mpi);
  file->maintain(kStart + 501'000);
  culprit::measurement::InputWindow window;
  culprit::measurement::InputFile input(path, window);
  const auto blocks = culprit::measurement::find_blocks(input);
  REQUIRE(blocks.threads.size() == 1);
  const std::uint64_t head =
      blocks.threads.begin()->second.front().offset + layout::kThreadHeaderUnit * layout::kUnit;
  layout::ThreadHeader before{};
  input.copy(head, reinterpret_cast<std::byte*>(&before), sizeof before);
  const auto write_changes = [&](std::uint32_t changes) {
    std::fstream out(path, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(static_cast<std::streamoff>(head + offsetof(layout::ThreadHeader, changes)));
    out.write(reinterpret_cast<const char*>(&changes), sizeof changes);
  };
  write_changes(before.changes + 1);  // as within a change
  LiveWatch watch(path);
  LiveWatch::Scratch scratch;
  REQUIRE(watch.look(scratch, 0));
  REQUIRE(watch.threads().size() == 1);
  CHECK(watch.threads()[0].gains.empty());
  write_changes(before.changes + 2);
  REQUIRE(watch.look(scratch, 0));
  CHECK(all(watch.threads()[0]) == 500'000);
}

TEST_CASE("a file of another process at the same path is not looked at") {
  const Directory directory;
  const auto path = directory / "a.culprit", other = directory / "b.culprit";
  File file(path, process());
  file->add_thread(kTid, true, {}, kStart);
  LiveWatch watch(path);
  LiveWatch::Scratch scratch;
  REQUIRE(watch.look(scratch, 0));
  std::filesystem::copy_file(path, other);
  {
    std::fstream out(other, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(static_cast<std::streamoff>(offsetof(culprit::measurement::layout::Header, key)));
    const std::uint64_t key = kKey + 1;
    out.write(reinterpret_cast<const char*>(&key), sizeof key);
  }
  watch.set_path(other);
  CHECK_FALSE(watch.look(scratch, 0));
  watch.set_path(path);
  CHECK(watch.look(scratch, 0));
}

TEST_CASE("threads and arenas that come later are found") {
  Watched watched;
  auto& [directory, path, file, tree, watch, scratch, looked] = watched;
  REQUIRE(looked);
  ThreadTree* const other = file->add_thread(kTid + 1, false, call(0x99), kStart);
  other->record(insert(*other, {sample(0x30)}), values(7'000));
  std::int64_t expected = 0;
  for (std::uint64_t i = 0; i < 5'000; ++i) {
    tree->record(insert(*tree, {call(0x10 + i % 7), sample(0x1000 + i)}), values(1'000));
    expected += 1'000;
    if (i % 100 == 0) file->maintain(kStart + i);
  }
  REQUIRE(watch.look(scratch, 0));
  REQUIRE(watch.threads().size() == 2);
  std::int64_t sum = all(watch.threads()[0]);
  REQUIRE(watch.look(scratch, 0));  // the first look may have found the arena grown
  sum += all(watch.threads()[0]);
  CHECK(sum == expected);
}

TEST_CASE("a sealed measurement is live no more, and what is none is refused") {
  const Directory directory;
  const auto path = directory / "a.culprit";
  File file(path, process());
  ThreadTree* const tree = file->add_thread(kTid, true, {}, kStart);
  tree->record(insert(*tree, {sample(0x20)}), values(5'000'000));
  LiveWatch watch(path);
  LiveWatch::Scratch scratch;
  REQUIRE(watch.look(scratch, 0));
  REQUIRE(file->seal(measurement::EndReason::exit, kStart + 1'000'000'000) == 0);
  CHECK_FALSE(watch.look(scratch, 0));
  CHECK_THROWS_AS(LiveWatch(directory / "none.culprit").look(scratch, 0), MeasurementError);
}

TEST_CASE("a look at a file that is cut or flipped anywhere holds valid contexts, or says why not") {
  const Directory directory(scratch());
  damage::File file(directory / "a.culprit", small_file(false, directory));
  LiveWatch::Scratch memory;
  int refused = 0;
  const auto look = [&](std::size_t at) {
    LiveWatch watch(file.path());
    try {
      for (int looks = 0; looks < 2 && watch.look(memory, kStart); ++looks)
        if (!are_valid(watch.threads())) FAIL("at " << at);
    } catch (const MeasurementError& error) {
      if (error.path() != file.path()) FAIL("at " << at << ": " << error.path());
      ++refused;
    }
  };
  damage::flip_each(file, look);
  damage::cut_each(file, look);
  CHECK(refused > 0);
}

TEST_CASE("whatever the bytes are, a look returns or throws") {
  const Directory directory(scratch());
  const auto path = directory / "a.culprit";
  File file(path, process());
  ThreadTree* const tree = file->add_thread(kTid, true, {}, kStart);
  for (std::uint64_t i = 0; i < 200; ++i)
    tree->record(insert(*tree, {call(0x10 + i % 7), sample(0x1000 + i)}), values(1'000));
  std::ifstream in(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  std::mt19937 random(17);
  LiveWatch::Scratch scratch_memory;
  for (int i = 0; i < 2'000; ++i) {
    std::string damaged = bytes;
    for (int byte = 0; byte < 1 + i % 64; ++byte) {
      const std::size_t from = i % 2 == 0 ? 0 : damaged.size() / 2;
      damaged[from + random() % (damaged.size() - from)] = static_cast<char>(random());
    }
    if (i % 5 == 0) damaged.resize(random() % damaged.size());
    const auto copy = directory / "b.culprit";
    std::ofstream(copy, std::ios::binary) << damaged;
    LiveWatch watch(copy);
    try {
      for (int look = 0; look < 2 && watch.look(scratch_memory, kStart); ++look)
        CHECK(are_valid(watch.threads()));
    } catch (const MeasurementError&) {
      continue;
    }
  }
}

}  // namespace watch_live_test
