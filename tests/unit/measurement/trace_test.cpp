#include "trace_recording.hpp"
#include "trace_validity.hpp"

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <thread>

#include <catch2/catch.hpp>
#include <rapidcheck.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace trace_test {

using namespace recording;
using culprit::measurement::EndReason;
using culprit::measurement::LiveTrace;
using culprit::measurement::TraceStream;
using culprit::measurement::WaitKind;
using trace::Operation;
using trace::ProcessTrace;
using trace::Record;
using trace::RecordKind;
using trace::ThreadRecords;

namespace {

void check_equal(const std::vector<Record>& found, const std::vector<Record>& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!equal(found[i], expected[i])) FAIL("record " << i << " differs");
  }
}

Operation begun(std::uint64_t id) {
  return {
      .kind = trace::OperationKind::send, .completes = false, .id = id, .context = 0, .peer = 1, .bytes = 8};
}

}  // namespace

TEST_CASE("a trace holds exactly what was recorded, live and after its end") {
  const bool holds = rc::check([] {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const auto sizes = *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(0, 4));
    const Directory directory(scratch());
    const auto path = directory / "a.trace";
    Trace trace(path);
    RC_ASSERT(trace.error() == 0);
    for (unsigned i = 0; i < 3; ++i) RC_ASSERT(trace->define({.global_id = i}) == i);
    Program program(seed, 3);
    TraceStream& stream = *trace->stream(0, 0);
    std::vector<Record> expected;
    for (const std::uint32_t size : sizes) {
      expected.push_back(program.next(size));
      RC_ASSERT(write(stream, expected.back()));
      if (program.below(10) == 0) trace->maintain();
    }
    trace->maintain();
    for (const bool ended : {false, true}) {
      if (ended) trace->end(EndReason::exit, kStart + 1);
      const ProcessTrace read(path);
      RC_ASSERT(read.sealed() == ended);
      RC_ASSERT(read.definitions().size() == 3u);
      RC_ASSERT(read.threads().size() == (expected.empty() ? 0u : 1u));
      if (expected.empty()) continue;
      const auto found = read_records(read, read.threads()[0]);
      RC_ASSERT(std::ranges::equal(found, expected, equal));
    }
  });
  REQUIRE(holds);
}

TEST_CASE("many blocks of many threads, written while the flusher thread takes its turns, come back whole") {
  const Directory directory(scratch());
  const auto path = directory / "a.trace";
  Trace trace(path);
  REQUIRE(trace->define({}) == 0);
  constexpr std::size_t kThreads = 3;
  std::vector<std::vector<Record>> expected(kThreads);
  std::atomic<std::size_t> running{kThreads};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Program program(t, 1);
      TraceStream& stream = *trace->stream(static_cast<std::uint32_t>(t), static_cast<std::uint32_t>(10 - t));
      for (int i = 0; i < 60'000; ++i) {
        Record record = program.next(program.below(500) == 0 ? program.below(3000) : program.below(3));
        if (write(stream, record)) expected[t].push_back(std::move(record));
      }
      --running;
    });
  }
  while (running > 0) trace->maintain();
  for (std::thread& thread : threads) thread.join();
  trace->end(EndReason::exit, kStart);
  const ProcessTrace read(path);
  REQUIRE(read.threads().size() == kThreads);
  std::size_t written = 0;
  for (std::size_t t = 0; t < kThreads; ++t) {
    const auto& thread = read.threads()[kThreads - 1 - t];
    REQUIRE(thread.ordinal == 10 - t);
    REQUIRE(thread.blocks.size() > 10);
    check_equal(read_records(read, thread), expected[t]);
    written += expected[t].size();
  }
  // Calls wait for the flusher thread, samples do not.
  REQUIRE(read.dropped() + written == kThreads * 60'000);
}

TEST_CASE("a call with ten thousand operations is one record, over several blocks") {
  const Directory directory(scratch());
  const auto path = directory / "a.trace";
  Trace trace(path);
  REQUIRE(trace->define({}) == 0);
  TraceStream& stream = *trace->stream(0, 0);
  Record call;
  call.kind = RecordKind::call;
  call.enter_ns = kStart;
  call.exit_ns = kStart + 5000;
  call.node = 77;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    call.operations.push_back(begun(i + 1));
    call.operations.back().peer = static_cast<std::int32_t>(i);
    call.operations.back().bytes = i * i;
  }
  Record after = call;
  after.operations.resize(1);
  after.enter_ns += 6000;
  after.exit_ns += 6000;
  for (const Record& record : {call, after}) REQUIRE(write(stream, record));
  trace->maintain();
  const ProcessTrace read(path);
  REQUIRE(read.threads()[0].blocks.size() >= 2);
  check_equal(read_records(read, read.threads()[0]), {call, after});

  SECTION("whose rest is left out where reading begins behind it") {
    ThreadRecords later(read, read.threads()[0], {}, kStart + 5001);
    Record record;
    REQUIRE(later.next(record));
    REQUIRE(equal(record, after));
    REQUIRE_FALSE(later.next(record));
  }
}

TEST_CASE("nodes are those of the profile; what it does not have is the root's") {
  const Directory directory(scratch());
  const auto path = directory / "a.trace";
  Trace trace(path);
  TraceStream& stream = *trace->stream(0, 0);
  for (const std::uint32_t unit : {20u, 15u, 999u}) REQUIRE(stream.sample(kStart, 0, unit, WaitKind::none));
  trace->maintain();
  const ProcessTrace read(path);
  const std::vector<std::uint32_t> units = {10, 11, 15, 20};
  ThreadRecords records(read, read.threads()[0], units);
  for (const std::uint32_t node : {3u, 2u, 0u}) {
    Record record;
    REQUIRE(records.next(record));
    REQUIRE(record.node == node);
  }
}

TEST_CASE("definitions and clocks come back, however many members they have") {
  const Directory directory(scratch());
  const auto path = directory / "a.trace";
  Trace trace(path);
  std::vector<std::int32_t> all(100'000);
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::int32_t> mixed(all.rbegin(), all.rend());
  const std::vector<std::int32_t> few = {7, 8, 9, 3, -1, -1, 0, INT32_MAX - 1};
  REQUIRE(
      trace->define(
          {.global_id = 1, .size = 100'000, .rank = 5, .members = all.data(), .member_count = all.size()}) ==
      0);
  REQUIRE(trace->define({.kind = trace::DefinitionKind::intercommunicator,
                         .global_id = UINT64_MAX,
                         .size = 5,
                         .parent = 0,
                         .members = few.data(),
                         .member_count = few.size(),
                         .remote = mixed.data(),
                         .remote_count = mixed.size(),
                         .sources = few.data(),
                         .source_count = 2,
                         .destinations = few.data(),
                         .destination_count = 3}) == 1);
  trace->add_clocks(
      {.monotonic_ns = 5, .realtime_ns = -7, .reference = 3, .reference_ns = 9, .round_trip_ns = 11});
  REQUIRE(trace->define({.kind = trace::DefinitionKind::group}) == 2);
  trace->maintain();
  const ProcessTrace read(path);
  REQUIRE(read.definitions().size() == 3);
  const auto& world = read.definitions()[0];
  REQUIRE((world.size == 100'000 && world.rank == 5 && world.parent == trace::kNoContext &&
           world.global_id == 1));
  REQUIRE((world.members == all && world.remote.empty()));
  const auto& inter = read.definitions()[1];
  REQUIRE((inter.kind == trace::DefinitionKind::intercommunicator && inter.global_id == UINT64_MAX));
  REQUIRE((inter.parent == 0 && inter.members == few && inter.remote == mixed));
  REQUIRE((inter.sources == std::vector<std::int32_t>{7, 8} &&
           inter.destinations == std::vector<std::int32_t>{7, 8, 9}));
  REQUIRE(read.definitions()[2].rank == trace::kNobody);
  REQUIRE(read.clocks().size() == 1);
  const auto& pair = read.clocks()[0];
  REQUIRE((pair.monotonic_ns == 5 && pair.realtime_ns == -7 && pair.reference == 3 &&
           pair.reference_ns == 9 && pair.round_trip_ns == 11));
}

TEST_CASE("a definition is in the file before anything can name it") {
  const Directory directory(scratch());
  const auto path = directory / "a.trace";
  Trace trace(path);
  REQUIRE(trace->define({.size = 4}) == 0);
  REQUIRE(ProcessTrace(path).definitions().size() == 1);
}

TEST_CASE("at its limit a trace stops, says so, and is as large as that") {
  const Directory directory(scratch());
  const auto path = directory / "a.trace";
  constexpr std::uint64_t kLimit = std::uint64_t{2} << 20;
  Trace trace(path, kLimit);
  Program program(1, 0);
  TraceStream& stream = *trace->stream(0, 0);
  std::vector<Record> expected;
  for (;;) {
    Record record = program.next(program.below(3));
    if (!write(stream, record)) break;
    expected.push_back(std::move(record));
  }
  REQUIRE(trace->limit_reached());
  REQUIRE_FALSE(trace->stream(1, 1)->sample(kStart, 0, 14, WaitKind::none));
  REQUIRE(trace->define({}) == trace::kNoContext);
  for (const bool ended : {false, true}) {
    if (ended) {
      trace->end(EndReason::exit, kStart);
    } else {
      trace->maintain();
    }
    const ProcessTrace read(path);
    REQUIRE((read.limit_reached() && read.stopped_ns() != 0 && read.limit() == kLimit));
    check_equal(read_records(read, read.threads()[0]), expected);
  }
  const auto size = std::filesystem::file_size(path);
  REQUIRE((size > kLimit * 9 / 10 && size < kLimit * 11 / 10));
}

TEST_CASE("what a short thread recorded takes no more of the disk than its bytes and a page") {
  const Directory directory;
  const auto path = directory / "a.trace";
  Trace trace(path);
  constexpr std::uint32_t kThreads = 100;
  for (std::uint32_t i = 0; i < kThreads; ++i) {
    REQUIRE(trace->stream(i, i)->sample(kStart, 1, 14, WaitKind::none));
  }
  trace->end(EndReason::exit, kStart);
  struct stat info {};
  REQUIRE(stat(path.c_str(), &info) == 0);
  REQUIRE(static_cast<std::uint64_t>(info.st_blocks) * 512 <= (kThreads + 4) * 8192);
  REQUIRE(ProcessTrace(path).threads().size() == kThreads);
}

TEST_CASE("a later thread continues the stream of an ended one") {
  const Directory directory(scratch());
  const auto path = directory / "a.trace";
  Trace trace(path);
  TraceStream* stream = trace->stream(3, 7);
  REQUIRE(stream->sample(kStart + 64, 1, 14, WaitKind::none));
  trace->maintain();
  REQUIRE(trace->stream(3, 7) == stream);
  REQUIRE(stream->sample(kStart + 128, 1, 14, WaitKind::none));
  trace->maintain();
  const ProcessTrace read(path);
  REQUIRE(read.threads().size() == 1);
  REQUIRE(read_records(read, read.threads()[0]).size() == 2);
}

TEST_CASE("after SIGKILL all is there that the flusher thread saw, and nothing half") {
  const Directory directory(scratch());
  const auto path = directory / "a.trace";
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  if (child == 0) {
    LiveTrace* trace = new LiveTrace;
    if (trace->create(path.c_str(), {.pid = 1, .start_ns = kStart}) != 0) _exit(1);
    trace->define({});
    Program program(9, 1);
    TraceStream& stream = *trace->stream(0, 0);
    for (int i = 0; i < 50'000; ++i) write(stream, program.next(program.below(3)));
    trace->maintain();
    for (int i = 0;; ++i) {
      write(stream, program.next(program.below(3)));
      if (i == 1000 && ::write(ready[1], "x", 1) != 1) _exit(1);
      if (i % 100 == 0) trace->maintain();
    }
  }
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  close(ready[0]);
  close(ready[1]);
  const ProcessTrace read(path);
  REQUIRE_FALSE(read.sealed());
  const auto found = read_records(read, read.threads()[0]);
  REQUIRE(found.size() >= 50'000);
  Program program(9, 1);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!equal(found[i], program.next(program.below(3)))) FAIL("record " << i << " differs");
  }
}

TEST_CASE("a file that may not grow stops the trace without a signal") {
  const Directory directory(scratch());
  const auto path = directory / "a.trace";
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{.rlim_cur = 200'000, .rlim_max = 200'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    LiveTrace* trace = new LiveTrace;
    if (trace->create(path.c_str(), {.pid = 1, .start_ns = kStart}) != 0) _exit(1);
    Program program(9, 0);
    TraceStream& stream = *trace->stream(0, 0);
    int written = 0;
    while (written < 1'000'000 && write(stream, program.next(1))) ++written;
    trace->end(EndReason::exit, kStart);
    _exit(trace->error() == EFBIG && written > 1000 && written < 1'000'000 ? 0 : 2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  REQUIRE((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  const ProcessTrace read(path);
  REQUIRE((read.error() == EFBIG && read.stopped_ns() != 0 && !read.sealed()));
  REQUIRE(read_records(read, read.threads()[0]).size() > 1000);
}

TEST_CASE("a call whose recording a longjmp left is not there, and all others are") {
  const Directory directory(scratch());
  const auto path = directory / "a.trace";
  Trace trace(path);
  TraceStream& stream = *trace->stream(0, 0);
  REQUIRE(stream.sample(kStart + 64, 5, 14, WaitKind::none));
  REQUIRE(stream.begin_call(kStart + 100, kStart + 200, 15, false));
  stream.add(begun(7));
  REQUIRE(stream.sample(kStart + 320, 5, 16, WaitKind::none));
  REQUIRE(stream.begin_call(kStart + 400, kStart + 500, 15, false));
  REQUIRE(stream.begin_call(kStart + 600, kStart + 700, 15, false));
  stream.end_call();
  trace->end(EndReason::exit, kStart + 200);
  const ProcessTrace read(path);
  const auto found = read_records(read, read.threads()[0]);
  REQUIRE(found.size() == 3);
  REQUIRE((found[1].node == 16 && found[2].exit_ns == kStart + 700 && found[2].operations.empty()));
}

TEST_CASE("a trace goes on after an exec that failed") {
  const Directory directory(scratch());
  const auto path = directory / "a.trace";
  Trace trace(path);
  TraceStream& stream = *trace->stream(0, 0);
  REQUIRE(stream.sample(kStart + 64, 1, 14, WaitKind::none));
  trace->end(EndReason::exec, kStart + 100);
  REQUIRE(ProcessTrace(path).end() == EndReason::exec);
  REQUIRE(read_records(ProcessTrace(path), ProcessTrace(path).threads()[0]).size() == 1);
  trace->resume();
  REQUIRE(stream.sample(kStart + 128, 1, 14, WaitKind::none));
  trace->end(EndReason::exit, kStart + 200);
  const ProcessTrace read(path);
  REQUIRE((read.end() == EndReason::exit && read.sealed()));
  REQUIRE(read_records(read, read.threads()[0]).size() == 2);
}

TEST_CASE("readings that do not change take three bytes, and mostly one more for each seven bits") {
  const Directory directory(scratch());
  const auto path = directory / "a.trace";
  Trace trace(path);
  TraceStream& steady = *trace->stream(0, 0);
  TraceStream& counts = *trace->stream(1, 1);
  constexpr std::uint64_t kCount = 10'000;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    REQUIRE(steady.reading(kStart + 64, 7, 5'000'000, 1000));
    REQUIRE(counts.reading(kStart + 64, i % 2, 100 + i % 13, 1000));
  }
  trace->end(EndReason::exit, kStart + 64);
  const ProcessTrace read(path);
  REQUIRE(read.threads()[0].bytes <= 3 * kCount + 100);
  REQUIRE(read.threads()[1].bytes <= 4 * kCount + 2 * kCount / 10 + 100);
  const auto found = read_records(read, read.threads()[0]);
  REQUIRE(found.size() == kCount);
  REQUIRE((found[5].kind == RecordKind::reading && found[5].event == 7 && found[5].value == 5'000'000));
}

TEST_CASE("waits for threads, and sums of short ones, stand between samples and calls") {
  const Directory directory(scratch());
  const auto path = directory / "a.trace";
  Trace trace(path);
  TraceStream& stream = *trace->stream(0, 0);
  REQUIRE(stream.sample(kStart + 6400, 6400, 14, WaitKind::none));
  REQUIRE(stream.thread_wait(kStart + 5000, kStart + 31'007, WaitKind::omp_barrier));
  REQUIRE(stream.short_waits(kStart + 40'000, 3, 40'000));
  REQUIRE(stream.thread_wait(kStart + 20'000, kStart + 30'000, WaitKind::join));  // by a clock that went back
  REQUIRE(stream.sample(kStart + 32'031, 6400, 14, WaitKind::none));
  REQUIRE(stream.thread_wait(kStart + 40'000, kStart + 60'000, WaitKind::lock,
                             {.thread = 3, .released_ns = kStart + 55'000}));
  REQUIRE(stream.thread_wait(kStart + 60'000, kStart + 90'000, WaitKind::join,
                             {.thread = 300, .released_ns = kStart + 50'000}));  // before it began
  trace->end(EndReason::exit, kStart + 90'000);
  const ProcessTrace read(path);
  const auto found = read_records(read, read.threads()[0]);
  REQUIRE(found.size() == 7);
  CHECK_FALSE(found[3].holder.known());
  CHECK((found[5].kind == RecordKind::thread_wait && found[5].wait == static_cast<int>(WaitKind::lock) &&
         found[5].holder.thread == 3 && found[5].holder.released_ns == kStart + 55'000));
  CHECK((found[6].enter_ns == kStart + 60'000 && found[6].holder.thread == 300 &&
         found[6].holder.released_ns == kStart + 60'000));
  CHECK((found[1].kind == RecordKind::thread_wait && found[1].enter_ns == kStart + 5000 &&
         found[1].exit_ns == kStart + 31'007 && found[1].wait == static_cast<int>(WaitKind::omp_barrier)));
  CHECK((found[2].kind == RecordKind::short_waits && found[2].count == 3 && found[2].value == 40'000 &&
         found[2].exit_ns == kStart + 31'007));
  CHECK((found[3].enter_ns == kStart + 20'000 && found[3].exit_ns == kStart + 31'007));
  CHECK((found[4].kind == RecordKind::sample && found[4].exit_ns == kStart + 32'031));
}

TEST_CASE("a trace is its own process's, and no other's") {
  const Directory directory(scratch());
  const auto path = directory / "a.trace";
  const Trace live(path);
  const trace::ProcessTrace trace(path);
  culprit::measurement::ProcessInfo process;
  process.pid = trace.pid();
  process.start_ns = trace.start_ns();
  process.start_realtime_ns = kStartRealtime;
  process.key = kKey;
  CHECK(trace.is_of(process));
  for (std::uint64_t* const field : {&process.pid, &process.start_ns, &process.key}) {
    ++*field;
    CHECK_FALSE(trace.is_of(process));
    --*field;
  }
  ++process.start_realtime_ns;
  CHECK_FALSE(trace.is_of(process));
}

TEST_CASE("an event takes eleven bytes and a sample six") {
  const Directory directory(scratch());
  const auto path = directory / "a.trace";
  Trace trace(path);
  TraceStream& calls = *trace->stream(0, 0);
  TraceStream& samples = *trace->stream(1, 1);
  constexpr std::uint64_t kCount = 20'000;
  std::uint64_t time = kStart;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    time += 20'000 + i * 7919 % 1000;
    Operation operation = begun(i + 1);
    operation.peer = static_cast<std::int32_t>(i % 6);
    REQUIRE(calls.begin_call(time - 700, time, static_cast<std::uint32_t>(1000 + i % 7), false));
    calls.add(operation);
    calls.end_call();
    REQUIRE(samples.sample(kStart + i * 5'000'000, 5'000'000,
                           static_cast<std::uint32_t>(1000 + i * 37 % 3000), WaitKind::mpi));
  }
  trace->end(EndReason::exit, time);
  const ProcessTrace read(path);
  REQUIRE(read.threads()[0].bytes <= 11 * kCount);
  REQUIRE(read.threads()[1].bytes <= 6 * kCount + 100);
}

}  // namespace trace_test
