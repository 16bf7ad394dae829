#include "measurement/published_calls.hpp"

#include "damaged_file.hpp"
#include "recording.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <random>

#include <catch2/catch.hpp>

namespace published_calls_test {

using namespace recording;
using culprit::measurement::MeasurementError;
using culprit::measurement::PublishedCalls;
using culprit::measurement::read_published_calls;
using culprit::measurement::ThreadTree;
namespace calls = culprit::measurement::calls;

namespace {

constexpr std::uint64_t kTid = 4711;

/// A process whose main thread is in its fifth call, MPI_Recv, and was sampled there; another thread waits
/// for a lock.
class Job {
 public:
  explicit Job(const std::filesystem::path& path) : file_(path, process()) {
    tree_ = file_->add_thread(kTid, true, {}, kStart);
    block_ = file_->add_calls();
    calls::Call& call = block_->call[3];
    call.tid = kTid;
    call.entered = 5;
    call.left = 4;
    call.kind = calls::CallKind::receive;
    std::memcpy(call.name, "MPI_Recv", 9);
    call.begun = call.done = 1;
    call.tree = tree_->index();
    call.node = insert(*tree_, {{.offset = 0x10, .module = 0}, sample(0x20)});
    block_->context[7].handle = 0x4400;
    calls::LockWait& wait = block_->lock_wait[0];
    wait.thread = 99;
    wait.lock = 0x1000;
    wait.owner = kTid;
    wait.changes = 2;
  }
  calls::Calls& block() { return *block_; }
  ThreadTree& tree() { return *tree_; }

 private:
  File file_;
  ThreadTree* tree_ = nullptr;
  calls::Calls* block_ = nullptr;
};

/// No number of them leads outside of what was read.
void check_bounds(const PublishedCalls& read) {
  for (const auto& thread : read.threads) {
    CHECK(thread.call.left <= thread.call.entered);
    CHECK(thread.call.kind <= calls::CallKind::finalize);
    CHECK(std::memchr(thread.call.name, 0, sizeof thread.call.name) != nullptr);
    for (const auto& frame : thread.place.frames)
      CHECK((frame.module == 0 || frame.module == cct::kNoModule));
  }
  for (const auto& context : read.contexts) CHECK(context.kind <= calls::ContextKind::file);
}

}  // namespace

TEST_CASE("what threads publish is read with the path of the last sample") {
  const Directory directory;
  const auto path = directory / "a.culprit";
  Job job(path);
  const PublishedCalls read = read_published_calls(path, 1);
  CHECK(read.there);
  REQUIRE(read.threads.size() == 1);
  CHECK(read.threads[0].whole);
  CHECK(read.threads[0].inside());
  CHECK(std::string(read.threads[0].call.name) == "MPI_Recv");
  const auto& frames = read.threads[0].place.frames;
  REQUIRE(frames.size() == 3);  // the program's root, and two
  CHECK(frames[1].offset == 0x10);
  CHECK(frames[2].offset == 0x20);
  CHECK(frames[2].module == 0);
  REQUIRE(read.contexts.size() == 1);
  CHECK(read.contexts[0].handle == 0x4400);
  REQUIRE(read.lock_waits.size() == 1);
  CHECK(read.lock_waits[0].wait.owner == kTid);
  CHECK(read.lock_waits[0].place.frames.empty());
  // Without the module's record its frames have no module.
  CHECK(read_published_calls(path, 0).threads[0].place.frames[2].module == cct::kNoModule);
}

TEST_CASE("a thread that sleeps in a call of the system is there, since then") {
  const Directory directory;
  const auto path = directory / "a.culprit";
  Job job(path);
  CHECK(read_published_calls(path, 1).threads[0].since() == 0);  // no sample has seen it in its call
  job.tree().life().begin_wait(insert(job.tree(), {{.offset = 0x10, .module = 0}, sample(0x30)}), kStart + 7,
                               culprit::measurement::WaitKind::none);
  auto thread = read_published_calls(path, 1).threads[0];
  CHECK(thread.place.frames.back().offset == 0x30);
  CHECK(thread.since() == kStart + 7);
  job.block().call[3].seen = 10;
  job.block().call[3].since = kStart + 5;
  CHECK(read_published_calls(path, 1).threads[0].since() == kStart + 5);
  job.tree().life().end_wait();
  thread = read_published_calls(path, 1).threads[0];
  CHECK(thread.place.frames.back().offset == 0x20);
  CHECK(thread.place.sleeps_since == 0);
}

TEST_CASE("a call that is being changed, and a place of another thread, say so") {
  const Directory directory;
  const auto path = directory / "a.culprit";
  Job job(path);
  job.block().call[3].begun = 2;
  CHECK_FALSE(read_published_calls(path, 1).threads[0].whole);
  job.block().call[3].begun = 1;
  job.block().call[3].tid = kTid + 1;  // whose tree that is not
  CHECK(read_published_calls(path, 1).threads[0].place.frames.empty());
  job.block().call[3].tid = 0;
  CHECK(read_published_calls(path, 1).threads.empty());
  job.block().lock_wait[0].changes = 3;
  CHECK(read_published_calls(path, 1).lock_waits.empty());
}

TEST_CASE("any bytes where calls are published are read, in bounds") {
  const Directory directory(scratch());
  const auto path = directory / "a.culprit";
  const auto damaged = directory / "b.culprit";
  Job job(path);
  const std::vector<char> whole = bytes_of(path);
  const char name[] = "MPI_Recv";
  const auto at = std::search(whole.begin(), whole.end(), name, name + sizeof name - 1) - whole.begin();
  const auto start = static_cast<std::size_t>(at) - offsetof(calls::Call, name) - 3 * sizeof(calls::Call) -
                     offsetof(calls::Calls, call);
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<char> bytes = whole;
    for (std::size_t i = 0; i < sizeof(calls::Calls); ++i) {
      if (round < 25 || random() % 16 == 0) bytes[start + i] = static_cast<char>(random());
    }
    if (round % 5 == 4) bytes.resize(start + random() % sizeof(calls::Calls));
    write_bytes(damaged, bytes);
    check_bounds(read_published_calls(damaged, 1));
  }
}

TEST_CASE("calls in a file that is cut or flipped anywhere are read in bounds, or refused") {
  const Directory directory(scratch());
  const Job job(directory / "a.culprit");
  damage::File file(directory / "b.culprit", bytes_of(directory / "a.culprit"));
  int refused = 0, others = 0;
  const auto look = [&](std::size_t) {
    try {
      const PublishedCalls read = read_published_calls(file.path(), 1);
      check_bounds(read);
      others += read.threads.size() == 1 && read.lock_waits.size() == 1 ? 0 : 1;
    } catch (const MeasurementError& error) {
      CHECK(error.path() == file.path());
      ++refused;
    }
  };
  damage::flip_each(file, look);
  damage::cut_each(file, look);
  CHECK(refused > 0);
  CHECK(others > 0);
}

}  // namespace published_calls_test
