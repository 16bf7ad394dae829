#include "measurement/published_calls.hpp"
#include "recording.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include <catch2/catch.hpp>
#include <sched.h>
#include <sys/resource.h>
#include <sys/vfs.h>

namespace seal_test {

using namespace recording;
using culprit::measurement::EndReason;
using culprit::measurement::Epoch;
using culprit::measurement::EpochKind;
using culprit::measurement::Measurement;
using culprit::measurement::ThreadTree;
using culprit::measurement::WaitKind;

namespace {

// A tree like a real program's: `contexts` leaves below shared prefixes, up to 60 deep.
void fill(culprit::measurement::LiveFile& file, ThreadTree& tree, unsigned seed, int contexts,
          std::size_t events) {
  std::mt19937_64 random(seed);
  std::vector<cct::FrameKey> path;
  for (int i = 0; i < contexts; ++i) {
    if (i % 64 == 0) file.maintain(kStart + static_cast<std::uint64_t>(i));
    path.resize(std::min<std::size_t>(path.size(), random() % 60));
    do {
      path.push_back(call(random() % 2'000'000, static_cast<std::uint32_t>(random() % 4)));
    } while (random() % 4 != 0 && path.size() < 60);
    auto values = recording::values(4'000'000 + random() % 2'000'000, 1 + random() % 3);
    if (random() % 3 == 0) values.mark = WaitKind::mpi;
    values.blocked = random() % 5 == 0;
    const auto leaf = tree.child(insert(tree, path), sample(random() % 2'000'000, 1));
    tree.record(leaf, values);
    for (std::size_t e = 0; e < events; ++e) tree.record_event(leaf, e, random() % 10'000'000);
    for (std::uint64_t n = 0; i % 50 == 0 && n < 3; ++n)
      tree.accumulators().count_epoch(
          leaf, {.kind = EpochKind::fence, .window = n % 2, .peers = 7, .time_ns = 10 + n});
  }
  tree.counters().count_partial(17);
  tree.counters().count_bridged();
  file.count_bridged(0);
  file.count_partial(1);
  file.count_partial(1);
  file.count_bridged(77);  // no module's number
  tree.counters().add_handler_time(12'345);
  tree.counters().count_halving(1);
  tree.counters().count_halving(2);
}

void add_modules(culprit::measurement::LiveFile& file) {
  const unsigned char id[20] = {1, 2, 3, 255};
  file.module(0x400000, "/opt/app/bin/app", id, sizeof id, culprit::measurement::LiveFile::kModuleExecutable);
  file.module(0x7f0000, "/lib/libmpi.so.40", id, 16, 0);
  file.module(0x7f1000, "/lib/libculprit.so", nullptr, 0, culprit::measurement::LiveFile::kModuleOwn);
  file.module(0x7ffe00, "[vdso]", nullptr, 0,
              culprit::measurement::LiveFile::kModuleVdso | culprit::measurement::LiveFile::kModuleNoUnwind);
}

}  // namespace

TEST_CASE("the sealed form holds what the live form held") {
  const std::size_t events = GENERATE(1, 2, 3);
  const Directory directory;
  const auto path = directory / "a.culprit";
  File file(path, process(events));
  add_modules(*file.operator->());
  for (unsigned t = 0; t < 3; ++t) {
    ThreadTree& tree = *file->add_thread(100 + t, t == 0, call(t, t % 2), kStart + t);
    fill(*file.operator->(), tree, t, 500, events - 1);
    if (t == 2) tree.life().finish(kStart + 12);
  }
  file->set_rank(0, 2, "abcdef", "MPICH 4.0.2");
  file->note("first");
  file->note("second");
  file->maintain(kStart + 90);
  // The end is marked first, as when the seal fails: then live and sealed must agree in everything.
  REQUIRE(file->seal(EndReason::exec, kStart + 100) == 0);
  const Measurement live = culprit::measurement::Reader().read(path);
  file->resume();
  REQUIRE(file->seal(EndReason::exit, kStart + 100) == 0);
  const Measurement sealed = culprit::measurement::Reader().read(path);
  CHECK(sealed.sealed);
  CHECK_FALSE(sealed.cut_short());
  CHECK(sealed.process.end == EndReason::exit);
  CHECK(invalid(sealed) == "");
  Measurement expected = live;
  expected.process.end = EndReason::exit;
  CHECK(difference(expected, sealed) == "");
  CHECK(sealed.threads.at(0).cells.size() > 400);
  CHECK(sealed.threads[0].quality.bridged == 1);
  CHECK(sealed.threads[0].epochs.size() == 20);
  CHECK(sealed.threads[0].epochs == live.threads[0].epochs);
  CHECK(sealed.threads[0].quality.halvings == 2);
  CHECK(sealed.threads[0].quality.most_halvings == 2);
  CHECK(sealed.modules.at(0).bridged == 3);
  CHECK(sealed.modules[0].partial == 0);
  CHECK(sealed.modules[1].partial == 6);
  CHECK(sealed.modules[3].no_unwind);
  CHECK(sealed.threads[1].end_ns == kStart + 100);
  CHECK(sealed.threads[2].end_ns == kStart + 12);
}

TEST_CASE("stretches and the samples in them are reported, live and sealed") {
  using culprit::measurement::Stretch;
  const Directory directory;
  const auto path = directory / "a.culprit";
  File file(path, process());
  add_modules(*file.operator->());
  ThreadTree& tree = *file->add_thread(1, true, {}, kStart);
  count_stretches(tree);
  file->maintain(kStart + 1);
  if (GENERATE(false, true)) REQUIRE(file->seal(EndReason::exit, kStart + 100) == 0);
  const Measurement m = culprit::measurement::Reader().read(path);
  CHECK(invalid(m) == "");
  const auto& thread = m.threads.at(0);
  const auto first = find(thread, {call(100), sample(1)}), second = find(thread, {call(200), sample(1)});
  const auto record = [&](EpochKind kind, cct::NodeId node, std::uint32_t code) {
    const auto found = std::ranges::find_if(thread.epochs, [&](const Epoch& e) {
      return e.kind == kind && e.node == node && e.size_class == code;
    });
    REQUIRE(found != thread.epochs.end());
    return *found;
  };
  CHECK(record(EpochKind::waiting_call, first, 0).total_ns == 3'003);
  CHECK(record(EpochKind::waiting_call, second, 0).least_ns == 2'000);
  CHECK(record(EpochKind::waiting_call, second, 0).window == 2'002);
  CHECK(record(EpochKind::gap, 0, Stretch::kFirst + first).total_ns == 20'000);
  const Epoch gap = record(EpochKind::gap, first, Stretch::kFirst + second);
  CHECK(gap.count == 3);
  CHECK(gap.total_ns == 30'000);
  CHECK(gap.least_ns == 5'000);
  CHECK(gap.window == 15'000);
  CHECK(gap.squares == 350e6);
  const auto both = find(thread, {call(300), sample(3)});
  const Epoch apart = record(EpochKind::stretch_samples, both, Stretch::kFirst + second);
  CHECK(apart.count == 2);
  CHECK(apart.total_ns == 10'000);
  CHECK(apart.squares == 8);
  const auto stretch_at = [&](cct::NodeId node) { return thread.cells.at(thread.cell.at(node)).stretch; };
  CHECK(stretch_at(both) == Stretch{Stretch::kFirst + first});
  CHECK(stretch_at(find(thread, {call(300), sample(2)})) == Stretch{Stretch::kFirst + first});
  CHECK(stretch_at(find(thread, {call(301), sample(5)})) == Stretch{Stretch::kFirst});
  CHECK(stretch_at(find(thread, {call(100), call(101), sample(4)})) == Stretch{Stretch::kInCall});
}

TEST_CASE("what MPI calls moved is read back, from live and from sealed files") {
  const Directory directory;
  const auto path = directory / "a.culprit";
  File file(path, process());
  add_modules(*file.operator->());
  ThreadTree& tree = *file->add_thread(1, true, {}, kStart);
  const auto send = insert(tree, {call(100), sample(1)}), barrier = insert(tree, {call(100), sample(2)});
  tree.accumulators().count_calls(
      send,
      {.calls = 3, .messages = 2, .bytes = 108, .sent = 108, .received = 0, .smallest = 8, .largest = 100});
  tree.accumulators().count_calls(barrier, {.calls = 7});
  tree.accumulators().count_calls(
      send,
      {.calls = 1, .messages = 1, .bytes = 500, .sent = 2, .received = 500, .smallest = 500, .largest = 500});
  tree.accumulators().add_trace_cost(100);
  tree.accumulators().add_trace_cost(200);
  file->maintain(kStart + 1);
  if (GENERATE(false, true)) REQUIRE(file->seal(EndReason::exit, kStart + 100) == 0);
  const Measurement m = culprit::measurement::Reader().read(path);
  CHECK(invalid(m) == "");
  const auto& thread = m.threads.at(0);
  const auto at = [&](EpochKind kind, cct::NodeId node) {
    const auto found =
        std::ranges::find_if(thread.epochs, [&](const Epoch& e) { return e.kind == kind && e.node == node; });
    REQUIRE(found != thread.epochs.end());
    return *found;
  };
  const Epoch sent = at(EpochKind::call_count, find(thread, {call(100), sample(1)}));
  CHECK(sent.count == 4);
  CHECK(sent.window == 3);
  CHECK(sent.squares == 608);
  CHECK(sent.total_ns == 110);
  CHECK(sent.least_ns == 500);
  CHECK(sent.size_class == 8);
  CHECK(sent.peers == 500);
  const Epoch none = at(EpochKind::call_count, find(thread, {call(100), sample(2)}));
  CHECK(none.count == 7);
  CHECK(none.window == 0);
  CHECK(at(EpochKind::trace_cost, 0).total_ns == 300);
}

TEST_CASE("MPI calls beyond their accumulators are counted at the root, and partners leave them room") {
  using culprit::measurement::kCallAccumulators;
  using culprit::measurement::kPartnerAccumulators;
  const Directory directory;
  const auto path = directory / "a.culprit";
  File file(path, process());
  file->module(0, "/m", nullptr, 0, 0);
  ThreadTree& tree = *file->add_thread(1, true, {}, kStart);
  for (std::uint32_t rank = 0; rank < kPartnerAccumulators + 10; ++rank) {
    if (rank % 16 == 0) file->maintain(kStart + rank);
    tree.accumulators().count_partner(1, 100'000, rank, 2, 20);
  }
  const auto paths = kCallAccumulators - kPartnerAccumulators;
  for (std::uint64_t i = 0; i < paths + 10; ++i) {
    if (i % 16 == 0) file->maintain(kStart + i);
    tree.accumulators().count_calls(insert(tree, {call(i), sample(1)}), {.calls = 1});
  }
  file->maintain(kStart + 1);
  if (GENERATE(false, true)) REQUIRE(file->seal(EndReason::exit, kStart + 100) == 0);
  const Measurement m = culprit::measurement::Reader().read(path);
  CHECK(invalid(m) == "");
  std::uint64_t partners = 0, calls = 0, at_root = 0;
  for (const Epoch& epoch : m.threads.at(0).epochs) {
    if (epoch.kind == EpochKind::partner_count) partners += epoch.count;
    if (epoch.kind != EpochKind::call_count) continue;
    calls += epoch.count;
    if (epoch.node == 0) at_root += epoch.count;
  }
  CHECK(partners == 2 * kPartnerAccumulators);
  CHECK(calls == paths + 10);
  CHECK(at_root == 10);
}

TEST_CASE("what threads make each other wait is read back, and beyond the accumulators is at the root") {
  using culprit::measurement::kCausedAccumulators;
  using culprit::measurement::ThreadTotal;
  const Directory directory;
  const auto path = directory / "a.culprit";
  File file(path, process());
  file->module(0, "/m", nullptr, 0, 0);
  ThreadTree& tree = *file->add_thread(1, true, {}, kStart);
  const auto paths = kCausedAccumulators + 10;
  for (std::uint64_t i = 0; i < paths; ++i) {
    if (i % 16 == 0) file->maintain(kStart + i);
    tree.accumulators().count_caused(insert(tree, {call(i), sample(1)}), EpochKind::idleness_caused, 5);
  }
  tree.accumulators().count_caused(insert(tree, {call(0), sample(1)}), EpochKind::idleness_caused, 100);
  tree.accumulators().count_caused(insert(tree, {call(1), sample(1)}), EpochKind::lock_wait_caused,
                                   7);  // no room any more
  for (int i = 0; i < culprit::measurement::kThreadTotals; ++i) {
    tree.accumulators().add_total(static_cast<ThreadTotal>(i), 1);
    tree.accumulators().add_total(static_cast<ThreadTotal>(i), 10);
  }
  file->maintain(kStart + paths);
  if (GENERATE(false, true)) REQUIRE(file->seal(EndReason::exit, kStart + 100'000) == 0);
  const Measurement m = culprit::measurement::Reader().read(path);
  CHECK(invalid(m) == "");
  const auto& thread = m.threads.at(0);
  const auto first = find(thread, {call(0), sample(1)});
  std::uint64_t caused = 0, at_first = 0, at_root = 0, locks = 0, totals = 0;
  for (const Epoch& epoch : thread.epochs) {
    if (epoch.kind == EpochKind::idleness_caused) {
      caused += epoch.total_ns;
      if (epoch.node == first) at_first = epoch.total_ns;
      if (epoch.node == 0) at_root = epoch.total_ns;
    } else if (epoch.kind == EpochKind::lock_wait_caused) {
      CHECK(epoch.node == 0);
      locks += epoch.total_ns;
    } else if (epoch.kind == EpochKind::thread_total) {
      CHECK(epoch.total_ns == 11);
      ++totals;
    }
  }
  CHECK(caused == 5 * paths + 100);
  CHECK(at_first == 105);
  CHECK(at_root == 50);
  CHECK(locks == 7);
  CHECK(totals == culprit::measurement::kThreadTotals);
}

TEST_CASE("stretches beyond their accumulators are left out") {
  const Directory directory;
  const auto path = directory / "a.culprit";
  File file(path, process());
  file->module(0, "/m", nullptr, 0, 0);
  ThreadTree& tree = *file->add_thread(1, true, {}, kStart);
  const auto count = culprit::measurement::kStretchAccumulators + 100;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i % 16 == 0) file->maintain(kStart + i);
    tree.accumulators().count_call(insert(tree, {call(i), sample(1)}), 1'000);
  }
  tree.accumulators().count_call(insert(tree, {call(0), sample(1)}), 500);
  const Measurement m = culprit::measurement::Reader().read(path);
  CHECK(m.threads.at(0).epochs.size() == culprit::measurement::kStretchAccumulators);
  CHECK(m.threads[0].epochs.back().total_ns == 1'500);
  CHECK(m.threads[0].quality.epochs_lost == 0);
}

TEST_CASE("calls that are alike share an accumulator, and their number is bounded") {
  const Directory directory;
  const auto path = directory / "a.culprit";
  File file(path, process());
  file->module(0, "/m", nullptr, 0, 0);
  ThreadTree& tree = *file->add_thread(1, true, {}, kStart);
  const auto leaf = tree.child(tree.program_root(), sample(1, 0));
  for (const std::uint64_t ns : {30, 10, 20}) {
    tree.accumulators().count_epoch(
        leaf, {.kind = EpochKind::lock, .size_class = 2, .window = 5, .peers = 6, .time_ns = ns});
  }
  tree.accumulators().count_epoch(
      leaf, {.kind = EpochKind::flush, .size_class = 2, .window = 5, .peers = 6, .time_ns = 1});
  const Measurement one = culprit::measurement::Reader().read(path);
  REQUIRE(one.threads.at(0).epochs.size() == 2);
  const Epoch& lock = one.threads[0].epochs[1];
  CHECK(lock.kind == EpochKind::lock);
  CHECK(one.threads[0].nodes.at(lock.node).frame.kind == cct::FrameKind::sample);
  CHECK(lock.count == 3);
  CHECK(lock.total_ns == 60);
  CHECK(lock.least_ns == 10);
}

TEST_CASE(
    "one-sided calls beyond the accumulators are distinguished by call path, kind and size, then counted") {
  using culprit::measurement::kCoarseAccumulators;
  using culprit::measurement::kEpochAccumulators;
  const Directory directory;
  const auto path = directory / "a.culprit";
  File file(path, process());
  file->module(0, "/m", nullptr, 0, 0);
  ThreadTree& tree = *file->add_thread(1, true, {}, kStart);
  const auto leaf = tree.child(tree.program_root(), sample(1, 0));
  const auto count = [&](std::uint32_t size_class, std::uint64_t window) {
    tree.accumulators().count_epoch(
        leaf, {.kind = EpochKind::fence, .size_class = size_class, .window = window, .time_ns = 1});
    if (tree.arena().is_low()) file->maintain(kStart);
  };
  for (std::uint64_t window = 1; window <= kEpochAccumulators; ++window) count(1, window);
  for (std::uint32_t size = 0; size < kCoarseAccumulators + 5; ++size) {
    count(size, kEpochAccumulators + 1);
    count(size, kEpochAccumulators + 2);
  }
  CHECK(tree.header().epochs_lost == 10);
  CHECK(culprit::measurement::Reader().read(path).threads.at(0).quality.epochs_lost == 10);
  REQUIRE(file->seal(EndReason::exit, kStart + 9) == 0);
  const Measurement sealed = culprit::measurement::Reader().read(path);
  const auto& epochs = sealed.threads.at(0).epochs;
  CHECK(epochs.size() == kEpochAccumulators + kCoarseAccumulators);
  CHECK(std::ranges::count_if(epochs, [](const Epoch& e) { return e.window == 0 && e.count == 2; }) ==
        kCoarseAccumulators);
  CHECK(sealed.threads[0].quality.epochs_lost == 10);
}

TEST_CASE("each level keeps half of the stamps of the level before, and levels never fall") {
  culprit::measurement::StampLevel level;
  CHECK(level.keeps(0));
  CHECK(level.keeps(~std::uint64_t{0}));
  level.raise_to(3);
  CHECK(level.keeps(std::uint64_t{1} << 60));
  CHECK_FALSE(level.keeps(std::uint64_t{1} << 61));
  level.raise_to(2);
  CHECK(level.level() == 3);
  level.raise_to(64);
  CHECK(level.keeps(0));
  CHECK_FALSE(level.keeps(1));
}

TEST_CASE("of many epochs a uniform choice that all processes share keeps its stamps") {
  using culprit::measurement::kEpochStamps;
  const Directory directory;
  const auto order_of = [](std::uint64_t instance) {
    std::uint64_t mixed = (instance + 1) * 0x9e3779b97f4a7c15U;
    mixed = (mixed ^ mixed >> 32) * 0xd6e8feb86659fd93U;
    return mixed ^ mixed >> 29;
  };
  // The second process makes two stamps per epoch and therefore keeps fewer epochs.
  std::set<std::uint32_t> kept[2];
  constexpr std::uint32_t kInstances = 20'000;
  for (const unsigned stamps_each : {1U, 2U}) {
    const auto path = directory / std::to_string(stamps_each);
    File file(path, process());
    file->module(0, "/m", nullptr, 0, 0);
    ThreadTree& tree = *file->add_thread(1, true, {}, kStart);
    const auto leaf = tree.child(tree.program_root(), sample(1, 0));
    for (std::uint32_t instance = 0; instance < kInstances; ++instance) {
      for (std::uint32_t peer = 0; peer < stamps_each; ++peer) {
        tree.stamps().keep(leaf, {.kind = EpochKind::start_stamp,
                                  .instance = instance,
                                  .members = stamps_each,
                                  .peer = peer,
                                  .window = 3,
                                  .order = order_of(instance),
                                  .enter_ns = kStart + instance,
                                  .exit_ns = kStart + instance + 7,
                                  .last_ns = 5});
      }
      if (instance % 256 == 0) file->maintain(kStart + instance);
    }
    const auto live = culprit::measurement::Reader().read(path).threads.at(0).epochs;
    REQUIRE(file->seal(EndReason::exit, kStart + kInstances) == 0);
    CHECK(culprit::measurement::Reader().read(path).threads.at(0).epochs == live);
    CHECK(live.size() <= kEpochStamps);
    CHECK(live.size() > kEpochStamps / 3);
    for (const Epoch& epoch : live) {
      CHECK(epoch.kind == EpochKind::start_stamp);
      CHECK(epoch.window == 3);
      CHECK(epoch.peers >> 32 == stamps_each);
      CHECK(epoch.count == kStart + epoch.size_class);
      CHECK(epoch.total_ns == epoch.count + 7);
      CHECK(epoch.least_ns == 5);
      kept[stamps_each - 1].insert(epoch.size_class);
    }
    const auto early =
        std::ranges::count_if(live, [](const Epoch& epoch) { return epoch.size_class < kInstances / 2; });
    CHECK(std::abs(static_cast<double>(early) / static_cast<double>(live.size()) - 0.5) < 0.1);
  }
  CHECK(std::ranges::includes(kept[0], kept[1]));
}

TEST_CASE("the structure of a sealed measurement is all of it but values") {
  for (const std::size_t events : {std::size_t{0}, std::size_t{2}}) {
    const Directory directory;
    const auto path = directory / "a.culprit";
    File file(path, process(1 + events));
    add_modules(*file.operator->());
    for (unsigned t = 0; t < 3; ++t)
      fill(*file.operator->(), *file->add_thread(t, t == 0, {}, kStart), t, 200, events);
    REQUIRE(file->seal(EndReason::quick_exit, kStart + 9) == 0);
    culprit::measurement::Reader reader;
    Measurement whole = reader.read(path);
    const Measurement structure = reader.read(path, culprit::measurement::Extent::structure);
    for (auto& thread : whole.threads) {
      CHECK(thread.cells.size() > 100);
      std::ranges::fill(thread.cells, culprit::measurement::Cell{});
      std::ranges::fill(thread.events, culprit::measurement::EventValue{});
    }
    CHECK(difference(whole, structure) == "");
    CHECK(difference(culprit::measurement::Reader().read(path), reader.read(path)) == "");
  }
}

TEST_CASE("a sealed node takes about ten bytes") {
  const Directory directory;
  const auto path = directory / "a.culprit";
  File file(path, process());
  add_modules(*file.operator->());
  fill(*file.operator->(), *file->add_thread(1, true, {}, kStart), 1, 1000, 0);
  REQUIRE(file->seal(EndReason::exit, kStart) == 0);
  const Measurement m = culprit::measurement::Reader().read(path);
  REQUIRE(m.threads.at(0).nodes.size() > 4000);
  CHECK(std::filesystem::file_size(path) < 12 * m.threads[0].nodes.size());
}

TEST_CASE("an end may keep the live form, which has the calls that threads are in") {
  const Directory directory;
  const auto path = directory / "a.culprit";
  File file(path, process());
  file->add_thread(1, true, {}, kStart);
  culprit::measurement::calls::Call& call = file->add_calls()->call[0];
  call.tid = 1;
  call.entered = 1;
  CHECK(file->keep(EndReason::left, kStart + 5) == 0);
  const Measurement m = culprit::measurement::Reader().read(path);
  CHECK(m.process.end == EndReason::left);
  CHECK(m.process.end_ns == kStart + 5);
  CHECK_FALSE(m.cut_short());
  CHECK_FALSE(m.sealed);
  const auto published = culprit::measurement::read_published_calls(path, 0);
  REQUIRE(published.threads.size() == 1);
  CHECK(published.threads[0].inside());
  file->resume();
  CHECK(file->seal(EndReason::exit, kStart + 9) == 0);
  CHECK(file->keep(EndReason::left, kStart + 9) == EBADF);
}

TEST_CASE("exec marks the file complete, resume takes it back, and sealing ends its use") {
  const Directory directory;
  const auto path = directory / "a.culprit";
  File file(path, process());
  ThreadTree& tree = *file->add_thread(1, true, {}, kStart);
  CHECK(file->seal(EndReason::exec, kStart + 5) == 0);
  CHECK(file->open());
  Measurement m = culprit::measurement::Reader().read(path);
  CHECK(m.process.end == EndReason::exec);
  CHECK(m.process.end_ns == kStart + 5);
  CHECK_FALSE(m.cut_short());
  file->resume();
  CHECK(tree.life().usable());
  tree.record(tree.program_root(), values(7));
  m = culprit::measurement::Reader().read(path);
  CHECK(m.process.end == EndReason::running);
  CHECK(m.cut_short());
  CHECK(file->seal(EndReason::signal, kStart + 8) == 0);
  CHECK_FALSE(file->open());
  CHECK_FALSE(tree.life().usable());
  CHECK(file->seal(EndReason::exit, kStart + 9) == EBADF);
  // A handler that is still running stores into memory that is still there.
  tree.record(insert(tree, {call(1), call(2)}), values(7));
  m = culprit::measurement::Reader().read(path);
  CHECK(m.sealed);
  CHECK(m.process.end == EndReason::signal);
  CHECK(m.threads.at(0).cells.at(0).time_ns == 7);
}

TEST_CASE("after forget the same object can hold another file") {
  const Directory directory;
  culprit::measurement::LiveFile& file = *new culprit::measurement::LiveFile;
  for (const char* name : {"a.culprit", "b.culprit"}) {
    REQUIRE(file.create((directory / name).c_str(), process()) == 0);
    ThreadTree* tree = file.add_thread(1, true, {}, kStart);
    REQUIRE(tree != nullptr);
    CHECK(file.module(5, name, nullptr, 0, 0) == 0);
    tree->record(tree->program_root(), values(3));
    if (name[0] == 'b') CHECK(file.seal(EndReason::exit, kStart) == 0);
    file.forget();
    CHECK_FALSE(file.open());
    CHECK(file.module(5, name, nullptr, 0, 0) == cct::kNoModule);
  }
  delete &file;
  CHECK_FALSE(culprit::measurement::Reader().read(directory / "a.culprit").sealed);
  CHECK(culprit::measurement::Reader().read(directory / "b.culprit").modules.at(0).key.path == "b.culprit");
  CHECK(culprit::measurement::Reader().read(directory / "b.culprit").threads.at(0).cells.at(0).time_ns == 3);
}

TEST_CASE("the space of a live file with many threads goes in one piece, and is there until then") {
  const Directory directory;
  const auto path = directory / "a.culprit";
  struct statfs system {};
  REQUIRE(statfs(directory.path().c_str(), &system) == 0);
  constexpr std::uint64_t kThreads = 300;
  for (const bool unused : {false, true}) {
    File file(path, process());
    ThreadTree* tree = nullptr;
    for (std::uint64_t i = 0; i < kThreads; ++i) {
      tree = file->add_thread(i + 1, i == 0, {}, kStart);
      REQUIRE(tree != nullptr);
      tree->record(insert(*tree, {call(i)}), values(i + 1));
    }
    const std::ifstream live(path, std::ios::binary);
    const auto size = std::filesystem::file_size(path);
    REQUIRE(file->seal(EndReason::exit, kStart + 1, unused) == 0);
    tree->record(tree->program_root(), values(1));  // as a handler that was under way would
    std::ostringstream rest;
    rest << live.rdbuf();
    CHECK(rest.str().size() == size);
    // Elsewhere than on ext4 the file goes as it is.
    constexpr auto kExt4 = 0xef53;
    const bool gone = rest.str().find("CBLK") == std::string::npos;
    CHECK(gone == (unused && system.f_type == kExt4));
    const Measurement m = culprit::measurement::Reader().read(path);
    REQUIRE(m.threads.size() == kThreads);
    for (std::size_t i = 0; i < kThreads; ++i) CHECK(m.threads.at(i).cells.at(0).time_ns == i + 1);
    std::filesystem::remove(path);
  }
}

TEST_CASE("a leftover of an earlier attempt does not stop the seal; a directory in its place does") {
  const Directory directory;
  const auto path = directory / "a.culprit";
  File file(path, process());
  ThreadTree& tree = *file->add_thread(1, true, {}, kStart);
  tree.record(tree.program_root(), values(7));
  std::filesystem::create_directories(directory / "a.culprit.tmp" / "full");
  CHECK(file->seal(EndReason::exit, kStart + 5) == EEXIST);
  CHECK(file->open());
  const Measurement live = culprit::measurement::Reader().read(path);
  CHECK_FALSE(live.sealed);
  CHECK_FALSE(live.cut_short());
  CHECK(live.process.end == EndReason::exit);
  CHECK(live.threads.at(0).cells.at(0).time_ns == 7);
  std::filesystem::remove_all(directory / "a.culprit.tmp");
  write_bytes(directory / "a.culprit.tmp", {'o', 'l', 'd'});
  CHECK(file->seal(EndReason::exit, kStart + 5) == 0);
  CHECK(culprit::measurement::Reader().read(path).sealed);
}

TEST_CASE("without a free descriptor a thread may ask again, and the live file stays, complete") {
  const Directory directory;
  const auto path = directory / "a.culprit";
  File file(path, process());
  REQUIRE(file->add_thread(1, true, {}, kStart) != nullptr);
  std::vector<int> taken;
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit small = before;
  small.rlim_cur = std::min<rlim_t>(before.rlim_cur, 1024);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &small) == 0);
  for (int fd = dup(0); fd >= 0; fd = dup(0)) taken.push_back(fd);
  bool again = false;
  const ThreadTree* refused = file->add_thread(2, false, call(1), kStart, again);
  const bool may_ask_again = again;
  int held = -1;
  std::thread flusher([&] {  // has its own descriptors, as the runtime's flusher
    REQUIRE(unshare(CLONE_FILES) == 0);
    for (const int fd : taken) close(fd);
    held = file->hold();
    file->maintain(kStart + 1);
  });
  flusher.join();
  const ThreadTree* served = file->add_thread(2, false, call(1), kStart, again);
  const int error = file->seal(EndReason::exit, kStart + 5);
  for (const int fd : taken) close(fd);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(refused == nullptr);
  CHECK(may_ask_again);
  CHECK(held == 0);
  CHECK(served != nullptr);
  CHECK(error == EMFILE);
  const Measurement m = culprit::measurement::Reader().read(path);
  CHECK_FALSE(m.sealed);
  CHECK_FALSE(m.cut_short());
  CHECK(m.process.notes.empty());
  CHECK(m.threads.size() == 2);
}

}  // namespace seal_test
