#include "recording.hpp"

#include <cerrno>
#include <cstdint>
#include <string>
#include <thread>

#include <catch2/catch.hpp>
#include <sys/resource.h>
#include <sys/stat.h>

namespace live_test {

using namespace recording;
using culprit::measurement::EndReason;
using culprit::measurement::LiveFile;
using culprit::measurement::Measurement;
using culprit::measurement::ThreadTree;
using culprit::measurement::WaitKind;

namespace {

constexpr std::uint64_t kMs = 1'000'000;

}  // namespace

TEST_CASE("a live file tells the process, its modules and threads at any moment") {
  const Directory directory;
  File file(directory / "a.culprit", process(3));
  REQUIRE(file.error() == 0);
  const unsigned char id[] = {0x0a, 0xbc, 0xff};
  CHECK(file->module(0x1000, "/bin/sh", id, sizeof id, LiveFile::kModuleExecutable) == 0);
  CHECK(file->module(0x2000, "[vdso]", nullptr, 0, LiveFile::kModuleVdso) == 1);
  ThreadTree* main = file->add_thread(4711, true, {}, kStart);
  ThreadTree* worker = file->add_thread(4712, false, call(0x99, 0), kStart + kMs);
  REQUIRE(main != nullptr);
  REQUIRE(worker != nullptr);
  file->set_rank(3, 8, "00ff", "Open MPI 4.1.4");
  file->note("something to know");
  CHECK(file->maintain(kStart + 7 * kMs) == 0);

  const Measurement m = culprit::measurement::Reader().read(directory / "a.culprit");
  CHECK(invalid(m) == "");
  CHECK_FALSE(m.sealed);
  CHECK(m.cut_short());
  CHECK(m.process.host == "node17");
  CHECK(m.process.pid == 4711);
  CHECK(m.process.rank == 3);
  CHECK(m.process.world_size == 8);
  CHECK(m.process.run_id == "00ff");
  CHECK(m.process.mpi == "Open MPI 4.1.4");
  CHECK(m.process.program == "/opt/app/bin/app");
  CHECK(m.process.arguments == std::vector<std::string>{"app", "-n", "three words here"});
  CHECK(m.process.directory == "/scratch/run");
  CHECK(m.process.start_realtime_ns == 1'700'000'000'000'000'000);
  CHECK(m.process.end_ns == kStart + 7 * kMs);
  CHECK(m.process.notes == std::vector<std::string>{"something to know"});
  REQUIRE(m.process.events.size() == 3);
  CHECK(m.process.events[1].name == "PAPI_TOT_CYC");
  CHECK(m.process.events[1].unit == "count");
  CHECK(m.process.events[2].period == 10'000'000);

  struct stat shell {};
  REQUIRE(stat("/bin/sh", &shell) == 0);
  REQUIRE(m.modules.size() == 2);
  CHECK(m.modules[0].key.path == "/bin/sh");
  CHECK(m.modules[0].key.build_id == "0abcff");
  CHECK(m.modules[0].key.size == static_cast<std::uint64_t>(shell.st_size));
  CHECK(m.modules[0].key.mtime_ns / 1'000'000'000 == shell.st_mtim.tv_sec);
  CHECK(m.modules[0].executable);
  CHECK(m.modules[1].vdso);
  REQUIRE(m.threads.size() == 2);
  CHECK(m.threads[0].ordinal == 0);
  CHECK(m.threads[0].tid == 4711);
  CHECK(m.threads[1].ordinal == 1);
  CHECK(m.threads[1].start_routine == call(0x99, 0));
  CHECK(m.threads[1].start_ns == kStart + kMs);
  CHECK(m.threads[1].nodes.size() == 4);
  CHECK(m.threads[1].cells.empty());
}

TEST_CASE("samples, weights, marks and events add up in their node's cell") {
  const Directory directory;
  File file(directory / "a.culprit", process(3));
  ThreadTree& tree = *file->add_thread(1, true, {}, kStart);
  file->module(0x1000, "/a", nullptr, 0, 0);
  const auto leaf = insert(tree, {call(0x10), sample(0x20)});
  tree.record(leaf, {.time_ns = 5, .weight = 1, .cpu_ns = 4});
  tree.record(leaf, {.time_ns = 15, .weight = 3, .cpu_ns = 1, .mark = WaitKind::mpi});
  tree.record(leaf, {.time_ns = 500, .weight = 100, .cpu_ns = 2, .blocked = true, .mark = WaitKind::lock});
  tree.record_event(leaf, 1, 70);
  tree.record_event(leaf, 1, 7);
  tree.record_event(leaf, 0, 1);
  tree.record_event(leaf, 2, 1'000'000);  // no such event: ignored
  tree.counters().count_partial(33);
  tree.counters().add_handler_time(900);

  const Measurement m = culprit::measurement::Reader().read(directory / "a.culprit");
  const auto& thread = m.threads.at(0);
  const auto node = find(thread, {call(0x10), sample(0x20)});
  REQUIRE(node != cct::kNoNode);
  REQUIRE(thread.cells.size() == 1);
  CHECK(thread.cell[node] == 0);
  const auto& cell = thread.cells[0];
  CHECK(cell.time_ns == 520);
  CHECK(cell.samples == 2);
  CHECK(cell.weight_sq == 10);
  CHECK(cell.blocked == 1);
  CHECK(cell.cpu_ns == 7);
  CHECK(cell.marked_ns == 515);
  CHECK(cell.mark == WaitKind::lock);
  REQUIRE(thread.events.size() == 2);
  CHECK(thread.events[0].value == 1);
  CHECK(thread.events[1].value == 77);
  CHECK(thread.events[1].samples == 2);
  CHECK(thread.quality.samples == 3);
  CHECK(thread.quality.partial == 1);
  CHECK(thread.quality.partial_ns == 33);
  CHECK(thread.quality.full == 0);
  CHECK(thread.quality.handler_ns == 900);
}

TEST_CASE("without REALTIME the runs of event handlers are what is counted") {
  const Directory directory;
  auto description = process(2);
  description.events = kEvents + 1;
  description.has_realtime = false;
  File file(directory / "a.culprit", description);
  ThreadTree& tree = *file->add_thread(1, true, {}, kStart);
  tree.record_event(tree.thread_root(), 0, 11);
  tree.record_event(tree.thread_root(), 1, 22);
  const Measurement m = culprit::measurement::Reader().read(directory / "a.culprit");
  CHECK_FALSE(m.process.has_realtime);
  REQUIRE(m.threads.at(0).events.size() == 2);
  CHECK(m.threads[0].events[1].value == 22);
  CHECK(m.threads[0].quality.samples == 2);
}

TEST_CASE("a wait that is open is charged up to the last heartbeat, in the live and in the sealed form") {
  const Directory directory;
  File file(directory / "a.culprit", process());
  ThreadTree& tree = *file->add_thread(1, true, {}, kStart);
  file->module(0x1000, "/a", nullptr, 0, 0);
  const std::vector path{call(0x10), sample(0x20)};
  const auto leaf = insert(tree, path);
  tree.record(leaf, values(5 * kMs));
  tree.life().begin_wait(tree.root(), kStart + 1 * kMs, WaitKind::join);  // left by a longjmp
  tree.life().begin_wait(leaf, kStart + 10 * kMs, WaitKind::mpi);

  const auto charged = [&] {
    const Measurement m = culprit::measurement::Reader().read(directory / "a.culprit");
    return m.threads.at(0).cells.at(0);
  };
  CHECK(charged().time_ns == 5 * kMs);  // no heartbeat after the enter
  file->maintain(kStart + 40 * kMs);
  CHECK(charged().time_ns == 35 * kMs);
  CHECK(charged().blocked == 1);
  CHECK(charged().samples == 1);
  CHECK(charged().marked_ns == 30 * kMs);
  CHECK(charged().mark == WaitKind::mpi);

  SECTION("withdrawn") {
    tree.life().end_wait();
    CHECK(charged().time_ns == 5 * kMs);
  }
  SECTION("withdrawn by the sample that charges it") {
    tree.record(leaf, {.time_ns = 30 * kMs, .weight = 6, .blocked = true, .mark = WaitKind::mpi});
    CHECK(charged().time_ns == 35 * kMs);
    CHECK(charged().blocked == 1);
  }
  SECTION("a node without samples gets a cell of its own") {
    tree.life().end_wait();
    tree.life().begin_wait(insert(tree, {call(0x11)}), kStart + 20 * kMs, WaitKind::none);
    const Measurement m = culprit::measurement::Reader().read(directory / "a.culprit");
    const auto& thread = m.threads.at(0);
    const auto node = find(thread, {call(0x11)});
    REQUIRE(node != cct::kNoNode);
    REQUIRE(thread.cell[node] != cct::kNoNode);
    CHECK(thread.cells[thread.cell[node]].time_ns == 20 * kMs);
    CHECK(thread.cells[thread.cell[node]].marked_ns == 0);
  }
  SECTION("sealed: up to the end") {
    CHECK(file->seal(EndReason::exit, kStart + 50 * kMs) == 0);
    CHECK(charged().time_ns == 45 * kMs);
    CHECK(charged().blocked == 1);
  }
}

TEST_CASE("an arena that is full charges the parent, counts, and never glues a path under a foreign parent") {
  const Directory directory;
  File file(directory / "a.culprit", process());
  file->module(0x1000, "/a", nullptr, 0, 0);
  ThreadTree& tree = *file->add_thread(1, true, {}, kStart);
  const auto inner = insert(tree, {call(0x1), call(0x3)});
  std::uint64_t recorded = 0;
  // No maintain(): the first block must fill up.
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    tree.record(insert(tree, {call(0x1), call(0x100 + i), sample(0x8)}), values(1));
    ++recorded;
  }
  const auto outer = tree.child(tree.program_root(), call(0x1));
  CHECK(tree.child(outer, call(0xffffff)) == outer);
  CHECK(tree.child(outer, call(0x3)) == outer);  // it exists, but the path before it was lost
  tree.record(outer, values(1));
  CHECK(tree.child(outer, call(0x3)) == inner);  // the next sample starts afresh
  ++recorded;

  const Measurement m = culprit::measurement::Reader().read(directory / "a.culprit");
  CHECK(invalid(m) == "");
  const auto& thread = m.threads.at(0);
  CHECK(thread.quality.samples == recorded);
  CHECK(thread.quality.full > 90'000);
  CHECK(thread.quality.full < recorded);
  std::uint64_t time = 0;
  std::uint64_t samples = 0;
  for (const auto& cell : thread.cells) {
    time += cell.time_ns;
    samples += cell.samples;
  }
  CHECK(time == recorded);
  CHECK(samples == recorded);

  SECTION("maintain makes room again") {
    CHECK(file->maintain(kStart + kMs) == 0);
    CHECK(tree.child(outer, call(0xffffff)) != outer);
  }
}

TEST_CASE(
    "a tree asks for room once for each size, while there is some left, and no more where there is none") {
  const Directory directory;
  File file(directory / "a.culprit", process());
  ThreadTree& tree = *file->add_thread(1, true, {}, kStart);
  for (int grown = 0; grown < 5; ++grown) {
    std::uint64_t asked = 0;
    for (std::uint64_t i = 0; !tree.arena().is_nearly_full(); ++i) {
      insert(tree, {call(static_cast<std::uint64_t>(grown) << 32 | i)});
      if (tree.arena().asks_for_room()) ++asked;
    }
    CHECK(asked == 1);
    CHECK(tree.arena().is_low());
    CHECK(file->maintain(kStart) == 0);
    CHECK_FALSE(tree.arena().is_nearly_full());
  }
  CHECK(tree.header().full == 0);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit none = before;
  none.rlim_cur = 1;
  setrlimit(RLIMIT_FSIZE, &none);
  for (std::uint64_t i = 0; !tree.arena().is_nearly_full() && i < 100'000; ++i) {
    insert(tree, {call(i)});
    (void)tree.arena().asks_for_room();
  }
  CHECK(tree.arena().is_nearly_full());
  CHECK(file->maintain(kStart) != 0);
  CHECK_FALSE(tree.arena().is_nearly_full());
  CHECK_FALSE(tree.arena().asks_for_room());
  setrlimit(RLIMIT_FSIZE, &before);
  CHECK(file->maintain(kStart) == 0);
  CHECK_FALSE(tree.arena().is_nearly_full());
}

TEST_CASE("an arena grows up to its reservation and no further") {
  const Directory directory;
  File file(directory / "a.culprit", process());
  ThreadTree& tree = *file->add_thread(1, true, {}, kStart);
  for (std::uint64_t i = 0; tree.header().full == 0 && i < 4'000'000; ++i) {
    tree.record(insert(tree, {call(i)}), values(1));
    if (i % 256 == 0) REQUIRE(file->maintain(kStart + i) == 0);
  }
  CHECK(tree.header().full == 1);
  CHECK(std::filesystem::file_size(directory / "a.culprit") > std::uintmax_t{60} << 20);
  CHECK(std::filesystem::file_size(directory / "a.culprit") < std::uintmax_t{70} << 20);
  CHECK(file->maintain(kStart) == 0);  // being full is counted, not an error of every turn
  CHECK(file->seal(EndReason::exit, kStart + kMs) == 0);
  const Measurement m = culprit::measurement::Reader().read(directory / "a.culprit");
  CHECK(invalid(m) == "");
  CHECK(m.threads.at(0).nodes.size() > 500'000);
  CHECK(m.threads[0].quality.full == 1);
}

TEST_CASE("several threads record while the flusher thread grows their arenas and readers look on") {
  const Directory directory;
  const auto path = directory / "a.culprit";
  File file(path, process());
  constexpr int kThreads = 4;
  constexpr std::uint64_t kSamples = 3000;
  std::atomic<bool> done{false};
  std::thread flusher([&] {
    for (std::uint64_t i = 0; !done; ++i) {
      file->maintain(kStart + i);
      std::this_thread::yield();
    }
  });
  std::string why;
  std::thread reader([&] {
    while (!done && why.empty()) why = invalid(culprit::measurement::Reader().read(path));
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ThreadTree* tree = file->add_thread(static_cast<std::uint64_t>(t), t == 0, {}, kStart);
      for (std::uint64_t i = 0; i < kSamples; ++i) {
        const auto module =
            file->module((i % 7) * 0x1000, ("/lib/" + std::to_string(i % 7)).c_str(), nullptr, 0, 0);
        tree->record(insert(*tree, {call(i % 40, module), call(i % 31, module), sample(i % 5, module)}),
                     values(1));
      }
      tree->life().finish(kStart + kMs);
    });
  }
  for (auto& thread : threads) thread.join();
  done = true;
  flusher.join();
  reader.join();
  CHECK(why == "");

  const Measurement live = culprit::measurement::Reader().read(path);
  CHECK(invalid(live) == "");
  REQUIRE(live.threads.size() == kThreads);
  CHECK(live.modules.size() == 7);
  for (const auto& thread : live.threads) {
    std::uint64_t samples = 0;
    for (const auto& cell : thread.cells) samples += cell.samples;
    CHECK(samples == kSamples);
    CHECK(thread.end_ns == kStart + kMs);
  }
}

TEST_CASE("threads beyond the table are refused and reported") {
  const Directory directory;
  File file(directory / "a.culprit", process());
  for (std::size_t i = 0; i < culprit::measurement::kMaxThreads; ++i) {
    REQUIRE(file->add_thread(i, i == 0, {}, kStart) != nullptr);
  }
  CHECK(file->add_thread(1, false, {}, kStart) == nullptr);
  CHECK(file->add_thread(1, false, {}, kStart) == nullptr);
  file->count_lost(3);
  file->count_lost(4);
  CHECK(culprit::measurement::Reader().read(directory / "a.culprit").process.samples_lost == 7);
  CHECK(file->seal(EndReason::exit, kStart + kMs) == 0);
  const Measurement m = culprit::measurement::Reader().read(directory / "a.culprit");
  CHECK(m.threads.size() == culprit::measurement::kMaxThreads);
  REQUIRE(m.process.notes.size() == 1);
  CHECK(m.process.samples_lost == 7);
  CHECK(m.process.notes[0].substr(0, 14) == "2 threads were");
}

TEST_CASE("creating and moving files tells an errno and never replaces another's") {
  const Directory directory;
  write_bytes(directory / "taken.culprit", {'x'});
  {
    File file(directory / "taken.culprit", process());
    CHECK(file.error() == EEXIST);
    CHECK_FALSE(file->open());
    CHECK(file->add_thread(1, true, {}, kStart) == nullptr);
    CHECK(file->seal(EndReason::exit, kStart) == EBADF);
  }
  CHECK(bytes_of(directory / "taken.culprit") == std::vector{'x'});
  {
    File file(directory / "no" / "such.culprit", process());
    CHECK(file.error() == ENOENT);
  }
  File file(directory / "a.culprit", process());
  CHECK(file->rename((directory / "taken.culprit").c_str()) == EEXIST);
  CHECK(file->rename((directory / "b.culprit").c_str()) == 0);
  CHECK_FALSE(std::filesystem::exists(directory / "a.culprit"));
  REQUIRE(file->add_thread(1, true, {}, kStart) != nullptr);
  CHECK(file->seal(EndReason::exit, kStart) == 0);
  CHECK(culprit::measurement::Reader().read(directory / "b.culprit").sealed);
  CHECK_FALSE(std::filesystem::exists(directory / "b.culprit.tmp"));
}

TEST_CASE("no descriptor of the program's is taken") {
  const Directory directory;
  const auto open_descriptors = [] {
    const std::filesystem::directory_iterator entries("/proc/self/fd");
    return std::distance(begin(entries), end(entries));
  };
  const auto before = open_descriptors();
  File file(directory / "a.culprit", process());
  REQUIRE(file->add_thread(1, true, {}, kStart) != nullptr);
  CHECK(open_descriptors() == before);
  REQUIRE(file->add_thread(2, false, {}, kStart) != nullptr);
  CHECK(file->maintain(kStart + 1) == 0);
  CHECK(open_descriptors() == before);
  CHECK(file->seal(EndReason::exit, kStart + 5) == 0);
  CHECK(open_descriptors() == before);
}

TEST_CASE("a file that took the name of ours is not written to") {
  const Directory directory;
  File file(directory / "a.culprit", process());
  REQUIRE(file->add_thread(1, true, {}, kStart) != nullptr);
  std::filesystem::rename(directory / "a.culprit", directory / "moved.culprit");
  write_bytes(directory / "a.culprit", {'v'});
  CHECK(file->add_thread(2, false, {}, kStart) == nullptr);
  CHECK(bytes_of(directory / "a.culprit") == std::vector{'v'});
  CHECK(culprit::measurement::Reader().read(directory / "moved.culprit").threads.size() == 1);
}

TEST_CASE("a file without a rank knows its run") {
  const Directory directory;
  auto description = process();
  description.run_id = "0123abcd";
  for (const bool seal : {false, true}) {
    const auto path = directory / (seal ? "sealed.culprit" : "live.culprit");
    File file(path, description);
    if (seal) CHECK(file->seal(EndReason::exit, kStart) == 0);
    const Measurement m = culprit::measurement::Reader().read(path);
    CHECK(m.process.run_id == "0123abcd");
    CHECK_FALSE(m.process.rank.has_value());
  }
}

TEST_CASE("a file whose times no clock gets to is refused") {
  const Directory directory;
  const auto refusal = [&](bool seal, std::uint64_t end_ns, std::int64_t start_realtime_ns) {
    const auto path = directory / ("a" + std::to_string(seal) + std::to_string(end_ns) + ".culprit");
    auto description = process();
    description.start_realtime_ns = start_realtime_ns;
    File file(path, description);
    REQUIRE(file.error() == 0);
    CHECK((seal ? file->seal(EndReason::exit, end_ns) : file->maintain(end_ns)) == 0);
    try {
      culprit::measurement::Reader().read(path);
    } catch (const culprit::measurement::MeasurementError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  for (const bool seal : {false, true}) {
    INFO(seal);
    CHECK(refusal(seal, kStart + 1, kStartRealtime) == "");
    CHECK_THAT(refusal(seal, ~std::uint64_t{0}, kStartRealtime), Catch::Contains("a time that cannot be"));
    CHECK_THAT(refusal(seal, kStart + 2, INT64_MAX), Catch::Contains("a time that cannot be"));
  }
}

TEST_CASE("notes and long strings are bounded, and what is lost is reported") {
  const Directory directory;
  auto description = process();
  const std::string argument(30'000, 'x');
  const char* arguments[] = {"app", argument.c_str(), argument.c_str(), nullptr};
  const std::string host(1000, 'h');
  description.arguments = arguments;
  description.host = host.c_str();
  for (const bool seal : {false, true}) {
    const auto path = directory / (seal ? "sealed.culprit" : "live.culprit");
    File file(path, description);
    for (int i = 0; i < 40; ++i) file->note(std::string(1000, 'n').c_str());
    if (seal) CHECK(file->seal(EndReason::exit, kStart) == 0);
    const Measurement m = culprit::measurement::Reader().read(path);
    CHECK(m.process.host == std::string(255, 'h'));
    CHECK(m.process.arguments == std::vector<std::string>{"app", argument});
    REQUIRE(m.process.notes.size() == 34);
    CHECK(m.process.notes[31] == std::string(247, 'n'));
    CHECK(m.process.notes[32].substr(0, 14) == "1 argument(s) ");
    CHECK(m.process.notes[33].substr(0, 17) == "8 further note(s)");
  }
}

}  // namespace live_test
