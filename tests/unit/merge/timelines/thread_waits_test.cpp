#include "merge/timelines/thread_waits.hpp"

#include "trace_recording.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include <catch2/catch.hpp>

namespace culprit::merge::testing::thread_waits_test {
namespace {

using database::ContextId;
using measurement::WaitKind;
namespace trace = measurement::trace;

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t at(std::uint64_t ms) {
  return recording::kStart / kMs * kMs + ms * kMs;
}

/// Threads of a process, each with nodes that are its contexts.
class Process {
 public:
  static constexpr std::uint32_t kThreads = 4;
  enum Context : ContextId { kNowhere, kWait, kHold, kRest, kInnocent, kDeep, kReads, kContexts };

  Process() {
    shape_.contexts.resize(kContexts);
    for (ContextId x = 1; x < kContexts; ++x) {
      shape_.contexts[x].parent = 0;
      shape_.contexts[x].flat = x;
      shape_.contexts[x].kind = database::ContextKind::procedure;
    }
    shape_.contexts[kReads].io = 1;
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      NamedNodes& nodes = threads_.emplace_back();
      nodes.ordinal = t;
      for (ContextId x = 0; x < kContexts; ++x) {
        nodes.units.push_back(14 + x);
        nodes.contexts.push_back(x);
      }
    }
  }

  void sample(std::uint32_t thread, std::uint64_t since_ms, std::uint64_t until_ms, Context context,
              WaitKind wait = WaitKind::none) {
    REQUIRE(stream(thread).sample(at(until_ms), (until_ms - since_ms) * kMs, 14 + context, wait));
  }
  void wait(std::uint32_t thread, std::uint64_t begin_ms, std::uint64_t end_ms, WaitKind kind,
            std::uint32_t holder, std::uint64_t released_ms) {
    REQUIRE(stream(thread).thread_wait(at(begin_ms), at(end_ms), kind,
                                       {.thread = holder, .released_ns = at(released_ms)}));
  }
  /// The last thread works in innocent code all the time.
  void stand_by(std::uint64_t until_ms) {
    for (std::uint64_t ms = 0; ms < until_ms; ms += 5) sample(kThreads - 1, ms, ms + 5, kInnocent);
  }
  /// How many ms of a wait of the first thread, which is one sample, are charged to each context.
  std::map<ContextId, std::uint64_t> charged(std::uint64_t since_ms, std::uint64_t until_ms, WaitKind wait) {
    if (!waits_) {
      trace_->end(measurement::EndReason::exit, at(1000));
      read_.emplace(path_);
      waits_.emplace(*read_, threads_, shape_, regions_);
      const trace::Record period = record(0, 5, WaitKind::none);
      CHECK(waits_->charged(0, period, 0).size() == 1);
    }
    const trace::Record sample = record(since_ms, until_ms, wait);
    std::map<ContextId, std::uint64_t> found;
    std::uint64_t before_ns = sample.enter_ns;
    for (const ThreadWaits::Part& part : waits_->charged(0, sample, 0)) {
      found[part.charged] += part.until_ns - before_ns;
      before_ns = part.until_ns;
    }
    CHECK(before_ns == sample.exit_ns);
    for (auto& [context, ns] : found) ns /= kMs;
    return found;
  }

 private:
  static trace::Record record(std::uint64_t since_ms, std::uint64_t until_ms, WaitKind wait) {
    trace::Record sample;
    sample.node = kWait;
    sample.wait = static_cast<std::uint8_t>(wait);
    sample.enter_ns = at(since_ms);
    sample.exit_ns = at(until_ms);
    return sample;
  }
  measurement::TraceStream& stream(std::uint32_t thread) { return *trace_->stream(thread, thread); }

  recording::Directory directory_{recording::scratch()};
  std::filesystem::path path_ = directory_ / "a.trace";
  recording::Trace trace_{path_};
  Shape shape_;
  RegionPaths regions_{shape_};
  std::vector<NamedNodes> threads_;
  std::optional<trace::ProcessTrace> read_;
  std::optional<ThreadWaits> waits_;
};

using Charged = std::map<ContextId, std::uint64_t>;

}  // namespace

TEST_CASE("a wait for a lock is charged to the thread that held it") {
  Process process;
  for (std::uint64_t ms = 5; ms < 100; ms += 5) process.sample(1, ms, ms + 5, Process::kHold);
  process.sample(1, 100, 105, Process::kRest);  // after it gave the lock back
  process.stand_by(120);
  SECTION("where that is recorded") {
    process.wait(0, 10, 102, WaitKind::lock, 1, 100);
    CHECK(process.charged(10, 102, WaitKind::lock) == Charged{{Process::kHold, 92}});
  }
  SECTION("else to all that work") {
    const Charged found = process.charged(10, 102, WaitKind::lock);
    CHECK(found.at(Process::kHold) > 35);
    CHECK(found.at(Process::kInnocent) > 35);
  }
  SECTION("of another kind than what the sample is in") {
    process.wait(0, 10, 102, WaitKind::join, 1, 100);
    CHECK(process.charged(10, 102, WaitKind::lock).contains(Process::kInnocent));
  }
  SECTION("that has no time line") {
    process.wait(0, 10, 102, WaitKind::lock, 17, 100);
    CHECK(process.charged(10, 102, WaitKind::lock).contains(Process::kInnocent));
  }
}

TEST_CASE("threads that held a lock one after the other bear their parts of a wait") {
  Process process;
  process.sample(1, 0, 40, Process::kHold);
  process.sample(1, 40, 100, Process::kRest);
  process.sample(2, 10, 40, Process::kRest);
  process.sample(2, 40, 100, Process::kDeep);
  process.stand_by(120);
  process.wait(0, 10, 40, WaitKind::lock, 1, 40);
  process.wait(0, 40, 100, WaitKind::lock, 2, 100);
  CHECK(process.charged(10, 100, WaitKind::lock) == Charged{{Process::kHold, 30}, {Process::kDeep, 60}});
}

TEST_CASE("a wait for a thread that waits itself is charged to whom that one waits for") {
  Process process;
  process.sample(1, 10, 60, Process::kWait, WaitKind::lock);
  process.wait(1, 10, 60, WaitKind::lock, 2, 60);
  process.sample(1, 60, 65, Process::kRest);
  process.sample(1, 65, 90, Process::kWait, WaitKind::condition);  // nobody knows for whom
  process.sample(2, 0, 60, Process::kDeep);
  process.stand_by(120);
  process.wait(0, 10, 90, WaitKind::join, 1, 90);
  CHECK(process.charged(10, 90, WaitKind::join) ==
        Charged{{Process::kDeep, 50}, {Process::kRest, 5}, {Process::kInnocent, 25}});
}

TEST_CASE("a holder that waits in MPI bears that call") {
  Process process;
  process.sample(1, 0, 10, Process::kRest);
  process.sample(1, 10, 40, Process::kDeep, WaitKind::mpi);
  process.stand_by(60);
  process.wait(0, 10, 50, WaitKind::lock, 1, 50);
  CHECK(process.charged(10, 50, WaitKind::lock) == Charged{{Process::kDeep, 40}});
}

TEST_CASE("a holder that was sampled at nothing meanwhile is taken for doing what it did before") {
  Process process;
  process.sample(1, 0, 20, Process::kRest);
  process.sample(1, 20, 40, Process::kHold);
  process.sample(1, 40, 60, Process::kRest);
  process.sample(1, 60, 80, Process::kReads);
  process.stand_by(120);
  process.wait(0, 21, 24, WaitKind::lock, 1, 24);
  process.wait(0, 35, 41, WaitKind::lock, 1, 41);
  process.wait(0, 50, 52, WaitKind::lock, 1, 52);
  process.wait(0, 70, 81, WaitKind::lock, 1, 81);
  CHECK(process.charged(21, 24, WaitKind::lock) == Charged{{Process::kRest, 3}});    // at work last
  CHECK(process.charged(35, 41, WaitKind::lock) == Charged{{Process::kHold, 6}});    // seen with the lock
  CHECK(process.charged(50, 52, WaitKind::lock) == Charged{{Process::kHold, 2}});    // as then
  CHECK(process.charged(70, 81, WaitKind::lock) == Charged{{Process::kReads, 11}});  // also a file's
}

}  // namespace culprit::merge::testing::thread_waits_test
