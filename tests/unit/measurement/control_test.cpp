// What the program controls of its own measurement: stops, regions, iterations.
#include "recording.hpp"

#include <catch2/catch.hpp>

namespace control_test {

using namespace recording;
using culprit::cct::FrameKind;
using culprit::measurement::EndReason;
using culprit::measurement::LiveFile;
using culprit::measurement::Measurement;
using culprit::measurement::ThreadTree;
using culprit::measurement::WaitKind;

namespace {

constexpr std::uint64_t kMs = 1'000'000;

}  // namespace

TEST_CASE("an open wait is not charged for the time while sampling is stopped, live and sealed") {
  const Directory directory;
  const auto path = directory / "a.culprit";
  File file(path, process());
  ThreadTree& tree = *file->add_thread(1, true, {}, kStart);
  const auto leaf = insert(tree, {sample(0x20, cct::kNoModule)});
  const auto charged = [&] {
    const Measurement m = culprit::measurement::Reader().read(path);
    return m.threads.at(0).cells.empty() ? 0 : m.threads.at(0).cells.at(0).time_ns;
  };

  SECTION("stopped in the middle of it") {
    tree.life().begin_wait(leaf, kStart + 10 * kMs, WaitKind::none);
    file->set_stopped(0, kStart + 30 * kMs);
    file->maintain(kStart + 20 * kMs);
    CHECK(charged() == 10 * kMs);
    file->maintain(kStart + 90 * kMs);
    CHECK(charged() == 20 * kMs);
    REQUIRE(file->seal(EndReason::exit, kStart + 100 * kMs) == 0);
    CHECK(charged() == 20 * kMs);
  }
  SECTION("stopped and resumed in the middle of it") {
    tree.life().begin_wait(leaf, kStart + 10 * kMs, WaitKind::none);
    file->set_stopped(60 * kMs, 0);
    file->maintain(kStart + 90 * kMs);
    CHECK(charged() == 20 * kMs);
    REQUIRE(file->seal(EndReason::exit, kStart + 100 * kMs) == 0);
    CHECK(charged() == 30 * kMs);
  }
  SECTION("stopped before it, and still") {
    file->set_stopped(0, kStart + 5 * kMs);
    tree.life().begin_wait(leaf, kStart + 5 * kMs, WaitKind::none);  // the clock of waits stands still
    file->maintain(kStart + 90 * kMs);
    CHECK(charged() == 0);
  }
}

TEST_CASE("regions and marked iterations come back from the live and the sealed form") {
  const Directory directory;
  const auto path = directory / "a.culprit";
  File file(path, process());
  ThreadTree& tree = *file->add_thread(1, true, {}, kStart);
  // A name that is also that of a file: it is no file's.
  const std::uint32_t name = file->module(0x1234, "/bin/sh", nullptr, 0, LiveFile::kModuleRegion);
  CHECK(file->module(0x1234, "/bin/sh", nullptr, 0, LiveFile::kModuleRegion) == name);
  const std::vector<cct::FrameKey> frames{{.offset = 0, .module = name, .kind = FrameKind::region},
                                          sample(0x20, cct::kNoModule)};
  tree.record(insert(tree, frames), values(5 * kMs));
  file->set_iterations(12);
  file->maintain(kStart + 10 * kMs);
  const auto check = [&] {
    const Measurement m = culprit::measurement::Reader().read(path);
    CHECK(invalid(m) == "");
    CHECK(m.process.iterations == 12);
    REQUIRE(m.modules.size() == 1);
    CHECK(m.modules[0].region);
    CHECK(m.modules[0].key.path == "/bin/sh");
    CHECK(m.modules[0].key.size == 0);
    CHECK(find(m.threads.at(0), frames) != cct::kNoNode);
  };
  check();
  REQUIRE(file->seal(EndReason::exit, kStart + 20 * kMs) == 0);
  check();
}

}  // namespace control_test
