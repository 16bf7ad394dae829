#include "recording.hpp"

#include <set>
#include <thread>

#include <catch2/catch.hpp>

namespace modules_test {

using namespace recording;
using culprit::measurement::kMaxModules;
using culprit::measurement::Measurement;

TEST_CASE("a module is its load address, path and build-id") {
  const Directory directory;
  File file(directory / "a.culprit", process());
  const unsigned char one[] = {1, 2};
  const unsigned char two[] = {1, 3};
  CHECK(file->module(0x1000, "/lib/a.so", one, 2, 0) == 0);
  CHECK(file->module(0x1000, "/lib/a.so", one, 2, 0) == 0);
  CHECK(file->module(0x1000, "/lib/b.so", one, 2, 0) == 1);  // unloaded, another one loaded in its place
  CHECK(file->module(0x1000, "/lib/a.so", two, 2, 0) == 2);
  CHECK(file->module(0x1000, "/lib/a.so", nullptr, 0, 0) == 3);
  CHECK(file->module(0x2000, "/lib/a.so", one, 2, 0) == 4);
  CHECK(file->module(0x2000, nullptr, one, 0, 0) == 5);
  CHECK(file->module(0x1000, "/lib/a.so", one, 2, 0) == 0);
  const std::string path(6000, 'p');
  const std::string build_id(100, 'i');
  CHECK(file->module(0x3000, path.c_str(), build_id.data(), build_id.size(), 0) == 6);
  CHECK(file->module(0x3000, path.c_str(), build_id.data(), build_id.size(), 0) == 6);
  const Measurement m = culprit::measurement::Reader().read(directory / "a.culprit");
  REQUIRE(m.modules.size() == 7);
  CHECK(m.modules[2].key.build_id == "0103");
  CHECK(m.modules[3].key.build_id == "");
  CHECK(m.modules[5].key.path == "");
  CHECK(m.modules[6].key.path == std::string(4095, 'p'));
  CHECK(m.modules[6].key.build_id.size() == 128);
}

TEST_CASE("the module table takes as many as it says, tells when it is full, and keeps finding what it has") {
  const Directory directory;
  File file(directory / "a.culprit", process());
  const auto name = [](std::size_t i) {
    return "/usr/lib/some/where/deep/libnumber" + std::to_string(i) + ".so.1";
  };
  for (std::size_t i = 0; i < kMaxModules; ++i) {
    if (i % 64 == 0) REQUIRE(file->maintain(kStart) == 0);
    REQUIRE(file->module(i << 12, name(i).c_str(), "identification", 14, 0) == i);
  }
  CHECK(file->module(1, "/one/too/many", nullptr, 0, 0) == cct::kNoModule);
  CHECK(file->module(std::uint64_t{17} << 12, name(17).c_str(), "identification", 14, 0) == 17);
  REQUIRE(file->seal(culprit::measurement::EndReason::exit, kStart) == 0);
  const Measurement m = culprit::measurement::Reader().read(directory / "a.culprit");
  REQUIRE(m.modules.size() == kMaxModules);
  CHECK(m.modules[4000].key.path == name(4000));
  REQUIRE(m.process.notes.size() == 1);
  CHECK(m.process.notes[0].substr(0, 12) == "1 look-up(s)");
}

TEST_CASE("threads that meet the same modules at once agree on their numbers") {
  const Directory directory;
  File file(directory / "a.culprit", process());
  constexpr std::uint32_t kEach = 200;
  constexpr int kThreads = 4;
  std::vector<std::vector<std::uint32_t>> seen(kThreads, std::vector<std::uint32_t>(kEach));
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ++ready;
      while (ready < kThreads) {
      }
      for (std::uint32_t i = 0; i < kEach; ++i) {
        seen[static_cast<std::size_t>(t)][i] =
            file->module(i % 50, ("/m" + std::to_string(i)).c_str(), nullptr, 0, 0);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& mine : seen) CHECK(mine == seen[0]);
  CHECK(std::set<std::uint32_t>(seen[0].begin(), seen[0].end()).size() == kEach);
  const Measurement m = culprit::measurement::Reader().read(directory / "a.culprit");
  REQUIRE(m.modules.size() == kEach);
  for (std::uint32_t i = 0; i < kEach; ++i)
    CHECK(m.modules.at(seen[0][i]).key.path == "/m" + std::to_string(i));
}

}  // namespace modules_test
