#include "mpi/polling.hpp"

#include <catch2/catch.hpp>

// When polls in vain are one long wait, by a clock that the tests turn.
namespace culprit::mpi {
namespace {

constexpr std::uint64_t kTicksPerNs = 3;
constexpr std::uint64_t kMicrosecond = 1'000, kMillisecond = 1'000'000;

struct Simulated {
  static inline std::uint64_t now_ns = 0, cpu_ns = 0;
  static std::uint64_t ticks() { return kTicksPerNs * now_ns; }
  static std::uint64_t passed_ns() { return now_ns; }
  static std::uint64_t used_ns() { return cpu_ns; }
};

void run(std::uint64_t ns) {
  Simulated::now_ns += ns;
  Simulated::cpu_ns += ns;
}
void sleep(std::uint64_t ns) {
  Simulated::now_ns += ns;
}

/// A thread that polls. `spins` is what its last poll but the first was taken for.
struct Poller {
  Polls<Simulated> polls{};
  bool spins = false;

  Poller() { Simulated::now_ns = Simulated::cpu_ns = kMillisecond; }

  bool poll(std::uint64_t ns, bool successful = false, std::uint64_t yields = 0) {
    spins = polls.failed() && polls.spins();
    run(ns);
    sleep(yields);
    polls.ended(successful);
    return spins;
  }
  /// Polls that follow one another at once.
  void spin(int count, std::uint64_t ns = 100) {
    for (int i = 0; i < count; ++i) {
      poll(ns);
      run(10);
    }
  }
};

TEST_CASE("the first poll of a series is none of a spin") {
  Poller thread;
  CHECK_FALSE(thread.poll(100));
  CHECK(thread.poll(100));
  CHECK(thread.poll(100, true));
  CHECK_FALSE(thread.poll(100));
}

TEST_CASE("work between two polls ends a spin, however long it went on") {
  Poller thread;
  for (const int polls : {2, 50, 5'000}) {
    thread.spin(polls);
    CHECK(thread.spins);
    // One in kEvery is timed where polls are short.
    int seen = 0;
    for (std::uint32_t i = 0; i <= Polls<Simulated>::kEvery + 1; ++i) {
      run(kMillisecond);
      seen += thread.poll(100) ? 0 : 1;
    }
    CHECK(seen > 0);
  }
}

TEST_CASE("short work between polls of a microsecond is work at once") {
  Poller thread;
  thread.poll(2 * kMicrosecond);
  for (int i = 0; i < 100; ++i) {
    run(3 * kMicrosecond);
    CHECK_FALSE(thread.poll(2 * kMicrosecond));
  }
}

TEST_CASE("a thread that loses its processor between two polls goes on waiting") {
  Poller thread;
  const std::uint64_t poll = GENERATE(100, 2 * kMicrosecond);
  SECTION("after the first poll") {
    thread.spin(1, poll);
  }
  SECTION("in a spin") {
    thread.spin(10'000, poll);
  }
  for (int i = 0; i < 200; ++i) {
    run(10 * kMicrosecond);
    sleep(4 * kMillisecond);
    run(35 * kMicrosecond);
    CHECK(thread.poll(poll));
    thread.spin(100, poll);
    CHECK(thread.spins);
  }
}

TEST_CASE("a sample that is taken between two polls is no work of the program's") {
  Poller thread;
  thread.spin(1'000, 2 * kMicrosecond);
  for (int i = 0; i < 100; ++i) {
    run(12 * kMicrosecond);
    CHECK(thread.poll(2 * kMicrosecond));
    thread.spin(2'500, 2 * kMicrosecond);  // 5 ms
    CHECK(thread.spins);
  }
}

TEST_CASE("who takes a nap of a millisecond after each poll waits") {
  Poller thread;
  thread.poll(100);
  for (int i = 0; i < 1'000; ++i) {
    run(20 * kMicrosecond);
    sleep(kMillisecond);
    run(30 * kMicrosecond);
    CHECK(thread.poll(100));
  }
}

TEST_CASE("work in a gap in which the processor was lost, too, is work") {
  Poller thread;
  thread.spin(1'000, 2 * kMicrosecond);
  sleep(4 * kMillisecond);
  run(kMillisecond);
  CHECK_FALSE(thread.poll(2 * kMicrosecond));
}

TEST_CASE("polls that give up the processor do not hide work between them") {
  Poller thread;
  for (int i = 0; i < 100; ++i) thread.poll(2 * kMicrosecond, false, kMillisecond);
  CHECK(thread.spins);
  run(3 * kMillisecond);
  CHECK_FALSE(thread.poll(2 * kMicrosecond, false, kMillisecond));
}

TEST_CASE("who works between polls is no longer asked for its CPU time, until it spins") {
  Poller thread;
  for (int series = 0; series < 3; ++series) {
    thread.poll(100);
    run(kMillisecond);
    CHECK_FALSE(thread.poll(100, true));
  }
  // Nobody knows now whether this gap was work.
  thread.poll(100);
  sleep(kMillisecond);
  CHECK_FALSE(thread.poll(100));
  thread.spin(1'000);
  CHECK(thread.spins);
  thread.poll(100, true);
  thread.poll(100);
  thread.poll(100, true);
  thread.poll(100);
  sleep(kMillisecond);
  CHECK(thread.poll(100));
}

}  // namespace
}  // namespace culprit::mpi
