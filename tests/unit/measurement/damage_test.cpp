#include "damaged_file.hpp"
#include "measurement/live_layout.hpp"
#include "measurement/sealed_layout.hpp"
#include "recording.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <random>

#include <catch2/catch.hpp>

namespace damage_test {

using namespace recording;
using culprit::measurement::EndReason;
using culprit::measurement::Measurement;
using culprit::measurement::MeasurementError;
using culprit::measurement::ThreadTree;
namespace layout = culprit::measurement::layout;
namespace sealed = culprit::measurement::sealed;

namespace {

/// Where small_file()'s first thread begins: behind the header and the modules' two granules.
constexpr std::size_t kFirstThread = std::size_t{3} * layout::kGranule;

bool same(const culprit::measurement::ThreadProfile& a, const culprit::measurement::ThreadProfile& b) {
  const auto alike = [](const auto& x, const auto& y) {
    return x.time_ns == y.time_ns && x.samples == y.samples && x.weight_sq == y.weight_sq &&
           x.blocked == y.blocked && x.cpu_ns == y.cpu_ns && x.marked_ns == y.marked_ns && x.mark == y.mark;
  };
  const auto alike_events = [](const auto& x, const auto& y) {
    return x.value == y.value && x.samples == y.samples;
  };
  const auto alike_nodes = [](const auto& x, const auto& y) {
    return x.frame == y.frame && x.parent == y.parent;
  };
  return std::ranges::equal(a.nodes, b.nodes, alike_nodes) && a.cell == b.cell &&
         std::ranges::equal(a.cells, b.cells, alike) && std::ranges::equal(a.events, b.events, alike_events);
}

// Reads a file: valid, or refused with a reason; anything else fails the test.
enum class Outcome : std::uint8_t { read, refused };

Outcome outcome_of(const std::filesystem::path& path) {
  static culprit::measurement::Reader reader;
  try {
    const std::string wrong = invalid(reader.read(path));
    if (!wrong.empty()) FAIL(wrong);
    return Outcome::read;
  } catch (const MeasurementError& error) {
    const std::string what = error.what();
    if (error.path() != path || what.empty() || what.back() != ')') FAIL(what);
    return Outcome::refused;
  }
}

Outcome outcome(const std::filesystem::path& path, const std::vector<char>& bytes) {
  write_bytes(path, bytes);
  return outcome_of(path);
}

std::string why(const std::filesystem::path& path) {
  try {
    culprit::measurement::Reader().read(path);
  } catch (const MeasurementError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a sealed file that is cut anywhere is refused") {
  const Directory directory(scratch());
  damage::File file(directory / "cut.culprit", small_file(true, directory));
  REQUIRE(outcome_of(file.path()) == Outcome::read);
  damage::cut_each(file, [&](std::size_t size) {
    if (outcome_of(file.path()) != Outcome::refused) FAIL("cut at " << size);
  });
  file.cut(file.size() - 1);
  CHECK(why(file.path()) == "is damaged: only " + std::to_string(file.size() - 1) + " of its " +
                                std::to_string(file.size()) +
                                " bytes are there (leave it out, or measure again)");
}

TEST_CASE("a live file that is cut anywhere gives what is left") {
  const Directory directory(scratch());
  damage::File file(directory / "cut.culprit", small_file(false, directory));
  const auto nodes_of = [](const Measurement& m) {
    std::size_t nodes = 0;
    for (const auto& thread : m.threads) nodes += thread.nodes.size();
    return nodes;
  };
  const auto path = file.path();
  culprit::measurement::Reader reader;
  std::size_t before = nodes_of(reader.read(path));
  constexpr std::size_t kFirstTree = kFirstThread + (layout::kRootUnit + 1) * layout::kUnit;
  damage::cut_each(file, [&](std::size_t size) {
    const Outcome result = outcome_of(path);
    if ((result == Outcome::refused) != (size < kFirstTree)) FAIL("cut at " << size);
    if (result == Outcome::refused) return;
    const Measurement& m = reader.read(path);
    if (m.losses.size() != 1 || m.losses[0].find("is cut off: only " + std::to_string(size)) != 0)
      FAIL("not reported at " << size);
    if (nodes_of(m) > before) FAIL("more is left at " << size << " than of more bytes");
    before = nodes_of(m);
  });
  CHECK(before < nodes_of(reader.read(path)));
}

TEST_CASE("a flipped byte in a sealed file is noticed") {
  const Directory directory(scratch());
  damage::File file(directory / "flip.culprit", small_file(true, directory));
  damage::flip_each(file, [&](std::size_t at) {
    if (outcome_of(file.path()) != Outcome::refused) FAIL("byte " << at);
  });
}

TEST_CASE("no content of a sealed file, even with right checksums, is taken for what it cannot be") {
  const Directory directory(scratch());
  const auto whole = small_file(true, directory);
  const auto path = directory / "flip.culprit";
  int refused = 0;
  for (std::size_t i = sizeof(sealed::Header); i < whole.size(); ++i) {
    for (const char value : {'\0', '\x7f', '\xff', static_cast<char>(whole[i] + 1)}) {
      auto changed = whole;
      changed[i] = value;
      sealed::Header header{};
      std::memcpy(&header, whole.data(), sizeof header);
      const bool in_table = i < sizeof header + header.section_count * sizeof(sealed::SectionEntry);
      if (!in_table) validity::mend(changed);
      refused += outcome(path, changed) == Outcome::refused ? 1 : 0;
    }
  }
  CHECK(refused > 100);
}

TEST_CASE("what a cut live file lacks is reported by threads and seconds") {
  const Directory directory(scratch());
  auto whole = small_file(false, directory);
  const auto path = directory / "cut.culprit";
  const auto losses_at = [&](std::size_t size) {
    write_bytes(path, {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    return culprit::measurement::Reader().read(path).losses.at(0);
  };
  const std::string begin = "is cut off: only ";
  const std::string end = " (leave it out, or measure again)";
  const std::string all = " of its " + std::to_string(whole.size()) + " bytes are there";
  CHECK(losses_at(whole.size() - 1) == begin + std::to_string(whole.size() - 1) + all + end);
  const std::size_t second = kFirstThread + std::size_t{2} * layout::kGranule;
  CHECK(losses_at(second) == begin + std::to_string(second) + all + "; missing are 1 of 2 threads" + end);
  const std::size_t within = kFirstThread + 1024;
  CHECK(losses_at(within) == begin + std::to_string(within) + all +
                                 "; missing are 1 of 2 threads, up to 0.0 of 0.0 s of thread 0" + end);
  whole.resize(kFirstThread);
  write_bytes(path, whole);
  CHECK(why(path) == begin + std::to_string(kFirstThread) + all + ", and none of its threads" + end);
}

TEST_CASE("a flipped bit anywhere in a live file is noticed, or changes nothing") {
  const Directory directory(scratch());
  damage::File file(directory / "flip.culprit", small_file(false, directory));
  const Measurement before = culprit::measurement::Reader().read(file.path());
  culprit::measurement::Reader reader;
  int refused = 0;
  damage::flip_each(file, [&](std::size_t at) {
    try {
      const Measurement& after = reader.read(file.path());
      const std::string what = difference(before, after);
      if (!what.empty() || before.losses != after.losses) FAIL("byte " << at << ": " << what);
    } catch (const MeasurementError&) {
      ++refused;
    }
  });
  CHECK(refused > 1000);
}

TEST_CASE("a flipped byte among a live file's contexts and values is noticed, or changes nothing") {
  const Directory directory(scratch());
  const auto whole = small_file(false, directory);
  const auto path = directory / "flip.culprit";
  write_bytes(path, whole);
  const Measurement before = culprit::measurement::Reader().read(path);
  layout::ThreadHeader head{};
  std::memcpy(&head, whole.data() + kFirstThread + layout::kThreadHeaderUnit * layout::kUnit, sizeof head);
  int refused = 0;
  for (std::size_t i = layout::kRootUnit * layout::kUnit; i < head.used * layout::kUnit; i += 3) {
    auto flipped = whole;
    flipped[kFirstThread + i] = static_cast<char>(flipped[kFirstThread + i] ^ (1 << (i % 8)));
    write_bytes(path, flipped);
    try {
      const Measurement after = culprit::measurement::Reader().read(path);
      if (!same(before.threads[0], after.threads[0])) FAIL("byte " << i);
    } catch (const MeasurementError& error) {
      ++refused;
      if (error.what() !=
          std::string("is damaged: contexts and values of thread 0 do not match their checksum "
                      "(leave it out, or measure again)"))
        FAIL(error.what());
    }
  }
  CHECK(refused > 100);
}

TEST_CASE("a rank that its world does not have is refused, whatever the checksums say") {
  const Directory directory(scratch());
  const auto path = directory / "rank.culprit";
  constexpr std::uint32_t kTooMany = culprit::measurement::kMaxRanks + 1;
  const std::tuple<std::int32_t, std::uint32_t, std::string> ranks[] = {
      {2, 2, "its rank 2 is none of 2"},
      {-1, 2, "its rank -1 is none of 2"},
      {INT32_MAX, 0, "its rank 2147483647 is none of 0"},
      {kTooMany - 1, kTooMany, "it is of more ranks than there can be"}};
  for (const bool sealed_form : {false, true}) {
    for (const auto& [rank, world, expected] : ranks) {
      std::filesystem::remove(path);
      File file(path, process());
      file->add_thread(1, true, {}, kStart);
      file->set_rank(rank, world, "ab", "MPI");
      if (sealed_form) REQUIRE(file->seal(EndReason::exit, kStart + 1) == 0);
      CHECK(why(path) == "is damaged: " + expected + " (leave it out, or measure again)");
    }
  }
}

TEST_CASE("what changes a live file keeps its checksums right") {
  const Directory directory(scratch());
  const auto path = directory / "changing.culprit";
  File file(path, process(2));
  const auto check = [&path](const char* after) {
    INFO(after);
    CHECK(why(path).empty());
  };
  file->module(0, "/m", "id", 2, 0);
  ThreadTree* tree = file->add_thread(1, true, {}, kStart);
  check("a thread");
  file->set_rank(3, 4, "abcdef", "MPI");
  file->set_rank(3, 4, "ab", "M");
  check("a rank");
  for (int i = 0; i < 40; ++i) file->note(std::to_string(i).c_str());
  check("notes");
  file->set_stopped(10, 20);
  file->set_stopped(30, 0);
  file->set_iterations(99);
  file->count_bridged(0);
  check("counters");
  for (std::uint32_t i = 0; i < 3000; ++i) {  // stamps are thinned, accumulators run out
    tree->stamps().keep(tree->root(), {.kind = culprit::measurement::EpochKind::fence,
                                       .instance = i,
                                       .order = i * 0x9e3779b97f4a7c15U,
                                       .enter_ns = i + 1});
    tree->accumulators().count_epoch(
        tree->root(), {.kind = culprit::measurement::EpochKind::access, .window = i, .time_ns = i});
  }
  check("one-sided communication");
  tree->life().begin_wait(tree->child(tree->root(), call(1)), kStart, culprit::measurement::WaitKind::lock);
  check("a wait");
  tree->record(tree->child(tree->root(), sample(1)),
               {.time_ns = 5, .weight = 1, .mark = culprit::measurement::WaitKind::mpi});
  tree->record_event(tree->root(), 0, 5);
  check("a sample");
  tree->life().finish(kStart + 5);
  check("a thread's end");
  for (int i = 0; i < 70; ++i) {
    ThreadTree* next = file->add_thread(static_cast<std::uint64_t>(i), false, call(7), kStart);
    next->record(insert(*next, {call(1)}), values(1));
    next->life().finish(kStart + 9);
  }
  check("trees that are taken over");
  CHECK(file->seal(EndReason::exec, kStart + 10) == 0);
  check("exec");
  file->resume();
  check("exec that failed");
}

TEST_CASE("a live file is read as it is where its checksum cannot be right") {
  const Directory directory(scratch());
  auto bytes = small_file(false, directory);
  const auto path = directory / "unsure.culprit";
  const std::size_t time = kFirstThread + [&] {  // of the thread root's cell
    layout::Node node{};
    std::memcpy(&node, bytes.data() + kFirstThread + layout::kThreadRootUnit * layout::kUnit, sizeof node);
    return node.cell * layout::kUnit;
  }();
  bytes[time] = 1;
  REQUIRE(outcome(path, bytes) == Outcome::refused);
  const auto set = [&bytes](std::size_t offset, std::uint32_t value) {
    std::memcpy(bytes.data() + offset, &value, sizeof value);
  };
  const std::size_t head = kFirstThread + layout::kThreadHeaderUnit * layout::kUnit;
  SECTION("a sample was being added when the process was killed") {
    layout::ThreadHeader header{};
    std::memcpy(&header, bytes.data() + head, sizeof header);
    set(head + offsetof(layout::ThreadHeader, changes), header.changes + 1);
  }
  SECTION("a change was never finished") {
    set(head + offsetof(layout::ThreadHeader, flags), 1);
  }
  SECTION("its pages were copied one after the other") {
    set(offsetof(layout::Header, flags), layout::kFlagRealtime | layout::kFlagCopied);
    validity::mend_live(bytes);
  }
  CHECK(outcome(path, bytes) == Outcome::read);
}

TEST_CASE("a change that a handler jumped out of leaves the file readable, without a checksum") {
  const Directory directory(scratch());
  const auto path = directory / "jumped.culprit";
  File file(path, process());
  file->module(0, "/m", nullptr, 0, 0);
  ThreadTree& tree = *file->add_thread(1, true, call(3, 1), kStart);
  const auto jump = [&tree] {  // as begin_change() leaves it
    auto& header = const_cast<layout::ThreadHeader&>(tree.header());
    ++header.changes;
    ++header.sum;
  };
  for (std::uint64_t jumps = 1; jumps <= 3; ++jumps) {
    jump();
    tree.record(insert(tree, {call(jumps)}), values(1'000'000, 1));
    write_bytes(directory / "killed.culprit", bytes_of(path));
    CHECK(culprit::measurement::Reader().read(directory / "killed.culprit").threads[0].cells.size() == jumps);
  }
}

TEST_CASE("no content of a live file makes the reader fail") {
  const Directory directory(scratch());
  const auto whole = small_file(false, directory);
  const auto path = directory / "random.culprit";
  std::mt19937 random(7);
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (whole[i] != 0) used.push_back(i);
  }
  for (int round = 0; round < 400; ++round) {
    auto changed = whole;
    for (int flips = 1 + round % 20; flips > 0; --flips) {
      changed[used[random() % used.size()]] = static_cast<char>(random());
    }
    outcome(path, changed);
    validity::mend_live(changed);
    outcome(path, changed);
  }
  SUCCEED("every outcome was a valid measurement or a clear error");
}

TEST_CASE("links of a live file that go in circles end") {
  const Directory directory(scratch());
  auto bytes = small_file(false, directory);
  const auto path = directory / "circle.culprit";
  const auto link = [&bytes](std::size_t unit, std::size_t field, std::uint32_t to) {
    std::memcpy(bytes.data() + kFirstThread + unit * 32 + field, &to, sizeof to);
  };
  for (std::size_t unit = 10; unit < 40; ++unit) {
    link(unit, 16, static_cast<std::uint32_t>(10 + (unit * 7) % 30));
    link(unit, 20, static_cast<std::uint32_t>(10 + (unit * 11) % 30));
    link(unit, 24, 10);
  }
  CHECK(outcome(path, bytes) == Outcome::refused);
  link(layout::kThreadHeaderUnit, offsetof(layout::ThreadHeader, flags), layout::kFlagMainThread);
  CHECK(outcome(path, bytes) == Outcome::read);  // without a checksum
}

TEST_CASE("a newer format, a foreign file and an empty one are distinguished") {
  const Directory directory(scratch());
  const auto path = directory / "odd.culprit";
  for (const bool seal : {false, true}) {
    auto bytes = small_file(seal, directory);
    bytes[8] = 7;
    write_bytes(path, bytes);
    CHECK(why(path) == "has format version 7, written by a newer Culprit (use the tools of that version)");
    bytes[8] = seal ? 0 : 1;
    write_bytes(path, bytes);
    CHECK(why(path) == "has format version " + std::to_string(seal ? 0 : 1) +
                           ", written by an older Culprit (use the tools of that version, or measure again)");
  }
  write_bytes(path, {'#', '!', '/', 'b', 'i', 'n', '/', 's', 'h', '\n'});
  CHECK(why(path) == "is not a measurement (remove it from the measurement directory)");
  write_bytes(path, {});
  CHECK(why(path) == "holds no measurement: its process ended while the file was created (remove it)");
  write_bytes(path, std::vector<char>(65536, '\0'));
  CHECK(why(path) == "holds no measurement: its process ended while the file was created (remove it)");
  CHECK(why(directory.path()) == "is not a regular file (remove it from the measurement directory)");
  CHECK(why(directory / "none") ==
        "cannot be opened: No such file or directory (check the file and its permissions)");
}

TEST_CASE("a file that claims to be huge costs nothing") {
  const Directory directory(scratch());
  const auto path = directory / "huge.culprit";
  write_bytes(path, small_file(false, directory));
  std::filesystem::resize_file(path, std::uintmax_t{1} << 40);
  CHECK(culprit::measurement::Reader().read(path).threads.size() == 2);
}

}  // namespace damage_test
