#include "measurement/live_layout.hpp"
#include "recording.hpp"

#include <cstring>
#include <thread>

#include <catch2/catch.hpp>

namespace schedule_test {

using namespace recording;
using culprit::measurement::EndReason;
using culprit::measurement::Measurement;
using culprit::measurement::MeasurementError;
using culprit::measurement::ProcessorSet;
using culprit::measurement::Schedule;
using culprit::measurement::ThreadTree;
namespace layout = culprit::measurement::layout;

namespace {

ProcessorSet set_of(std::initializer_list<std::uint16_t> processors) {
  ProcessorSet set;
  for (const std::uint16_t processor : processors) set.add(processor);
  return set;
}

std::vector<std::uint16_t> members(const ProcessorSet& set) {
  std::vector<std::uint16_t> list;
  set.each([&](std::uint16_t processor) { list.push_back(processor); });
  return list;
}

/// Where the header of small_file()'s first thread lies.
constexpr std::size_t kThreadHeader =
    std::size_t{3} * layout::kGranule + layout::kThreadHeaderUnit * layout::kUnit;

}  // namespace

TEST_CASE("a set of processors holds what launchers bind to") {
  using Members = std::vector<std::uint16_t>;
  const auto kept = [](std::initializer_list<std::uint16_t> list) {
    const ProcessorSet set = set_of(list);
    return members(set) == Members(list) && set.size() == list.size() && set.is_sound();
  };
  CHECK(kept({}));
  CHECK(kept({7}));
  CHECK(kept({0, 1, 2, 3}));
  CHECK(kept({0, 256}));
  CHECK(kept({0, 2, 4, 6, 8, 10}));
  CHECK(kept({0, 1, 2, 3, 64, 65, 66, 67}));
  CHECK(kept({0, 5, 6, 7, 1000, 65535}));
  ProcessorSet irregular;
  bool fits = true;
  for (const int processor : {0, 1, 5, 7, 11, 12, 20, 23, 40, 41, 70})
    fits = irregular.add(static_cast<std::uint16_t>(processor)) && fits;
  CHECK_FALSE(fits);
}

TEST_CASE("bytes that are no set of processors are found out") {
  ProcessorSet set = set_of({0, 2, 4, 9});
  set.runs = 6;
  CHECK_FALSE(set.is_sound());
  set = set_of({0, 2, 4});
  set.run[0].last = 5;
  CHECK_FALSE(set.is_sound());
  set = set_of({3});
  set.run[0].last = 4;
  CHECK_FALSE(set.is_sound());
  set = set_of({0, 1, 2, 9});
  set.run[1] = {.first = 1, .last = 1, .step = 0};
  CHECK_FALSE(set.is_sound());
}

TEST_CASE("how a thread was scheduled is in the live file, and in the sealed one") {
  for (const bool seal : {false, true}) {
    const Directory directory;
    small_file(seal, directory);
    const Measurement m =
        culprit::measurement::Reader().read(directory / (seal ? "sealed.culprit" : "live.culprit"));
    CHECK(m.process.host_load == kHostLoad);
    REQUIRE(m.threads.size() == 2);
    CHECK(m.threads[0].schedule == schedule(700));
    CHECK(m.threads[1].schedule == schedule(701));
  }
}

TEST_CASE("what nobody asked the kernel is unknown") {
  for (const bool seal : {false, true}) {
    const Directory directory;
    File file(directory / "a.culprit", process());
    REQUIRE(file->add_thread(1, true, {}, kStart) != nullptr);
    file->maintain(kStart + 1);
    if (seal) REQUIRE(file->seal(EndReason::exit, kStart + 2) == 0);
    const Measurement m = culprit::measurement::Reader().read(directory / "a.culprit");
    CHECK_FALSE(m.threads.at(0).schedule.known());
    CHECK_FALSE(m.process.host_load.known());
  }
}

TEST_CASE("schedules add up over the lives of threads that share a tree, and never go back") {
  const Directory directory;
  File file(directory / "a.culprit", process());
  file->module(0x1000, "/a", nullptr, 0, 0);
  std::vector<ThreadTree*> ended;
  for (std::uint64_t t = 0; t < 64; ++t) {
    ThreadTree* tree = file->add_thread(t, false, call(1), kStart);
    tree->life().set_schedule(t, schedule(100));
    tree->life().finish(kStart + 1);
    ended.push_back(tree);
  }
  ThreadTree* again = file->add_thread(1000, false, call(1), kStart + 2);
  REQUIRE(again->index() < ended.size());
  again->life().set_schedule(1, schedule(900));  // of a thread that no longer has the tree
  again->life().set_schedule(1000, schedule(50));
  again->life().set_schedule(1000, schedule(20));  // asked earlier
  again->life().finish(kStart + 3);
  again->life().set_schedule(1000, schedule(60));  // too late
  const Measurement m = culprit::measurement::Reader().read(directory / "a.culprit");
  const Schedule& sum = m.threads.at(again->index()).schedule;
  CHECK(sum.ran_ns == 150);
  CHECK(sum.runnable_ns == 300);
  CHECK(sum.voluntary == 6);
  CHECK(sum.involuntary == 8);
}

TEST_CASE("the thread records while another one notes its schedule") {
  const Directory directory;
  File file(directory / "a.culprit", process());
  file->module(0x1000, "/a", nullptr, 0, 0);
  ThreadTree& tree = *file->add_thread(5, true, {}, kStart);
  std::thread other([&] {
    for (std::uint64_t ran = 1; ran <= 20'000; ++ran) tree.life().set_schedule(5, schedule(ran));
  });
  for (std::uint64_t i = 0; i < 20'000; ++i) tree.record(insert(tree, {sample(i % 50)}), values(1));
  other.join();
  const Measurement m = culprit::measurement::Reader().read(directory / "a.culprit");
  CHECK(m.threads.at(0).schedule == schedule(20'000));
}

TEST_CASE("a schedule that was half written is unknown, a damaged one is noticed") {
  const Directory directory;
  const auto whole = small_file(false, directory);
  const auto path = directory / "changed.culprit";
  const auto head_of = [](std::vector<char>& bytes) {
    return reinterpret_cast<layout::ThreadHeader*>(bytes.data() + kThreadHeader);
  };
  auto bytes = whole;
  head_of(bytes)->schedule.runnable_ns += 1;
  write_bytes(path, bytes);
  CHECK_THROWS_AS(culprit::measurement::Reader().read(path), MeasurementError);
  head_of(bytes)->schedule_changes += 1;
  write_bytes(path, bytes);
  const Measurement m = culprit::measurement::Reader().read(path);
  CHECK_FALSE(m.threads.at(0).schedule.known());
  CHECK(m.threads.at(1).schedule == schedule(701));
}

}  // namespace schedule_test
