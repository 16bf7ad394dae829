// Whether the machine is a suspect, and by which kind, from figures as runs have them.
#include "blame/machine.hpp"

#include <cmath>

#include <catch2/catch.hpp>

namespace machine_test {

using namespace culprit;
using namespace culprit::blame;
using database::MachineKind;
using database::MachineSuspect;
using database::ScheduledThread;
using measurement::ProcessorSet;

namespace {

constexpr double kSecond = 1e9;

std::uint64_t ns(double seconds) {
  return static_cast<std::uint64_t>(std::llround(seconds * kSecond));
}

ProcessorSet processors(std::uint16_t first, std::uint16_t last) {
  ProcessorSet set;
  for (std::uint32_t p = first; p <= last; ++p) set.add(static_cast<std::uint16_t>(p));
  return set;
}

/// One rank's main thread on one host, in seconds.
struct Rank {
  double work = 0, work_cpu = 0;  ///< outside waits
  double wait = 0, wait_cpu = 0;
  double runnable = 0;
  ProcessorSet mask = processors(0, 1);
  std::uint32_t host = 0;
  double instructions = 0;
  double slept = 0;  ///< of `wait`, for threads of its process
};

/// A host as all its processes saw it.
struct Host {
  std::uint32_t online = 2, allowed = 2;
  double idle = 0;
  std::uint64_t quota = 0;
  double throttled = 0;
};

std::vector<ThreadOnHost> run_of(const std::vector<Rank>& ranks, const Host& host) {
  std::vector<ThreadOnHost> threads;
  for (const Rank& rank : ranks) {
    const auto number = static_cast<std::uint32_t>(threads.size());
    const double life = rank.work + rank.wait;
    threads.push_back({.facts = {.location = number,
                                 .online = host.online,
                                 .allowed = host.allowed,
                                 .slept_ms = static_cast<std::uint32_t>(std::lround(1000 * rank.slept)),
                                 .ran_ns = ns(rank.work_cpu + rank.wait_cpu),
                                 .runnable_ns = ns(rank.runnable),
                                 .lived_ns = ns(life),
                                 .sampled_ns = ns(life),
                                 .idle_ns = ns(rank.wait),
                                 .cpu_ns = ns(rank.work_cpu + rank.wait_cpu),
                                 .work_ns = ns(rank.work),
                                 .work_cpu_ns = ns(rank.work_cpu),
                                 .instructions = ns(rank.instructions),
                                 .span_ns = ns(life),
                                 .quota = host.quota,
                                 .throttled_ns = ns(host.throttled),
                                 .host_idle_ns = ns(host.idle),
                                 .processors = rank.mask},
                       .host = rank.host,
                       .process = number,
                       .is_rank = true});
  }
  return threads;
}

std::vector<MachineSuspect> suspects_of(const std::vector<Rank>& ranks, const Host& host = {}) {
  return find_machine_suspects({.threads = run_of(ranks, host)});
}

std::vector<std::uint32_t> numbers(std::uint32_t count) {
  std::vector<std::uint32_t> list;
  for (std::uint32_t i = 0; i < count; ++i) list.push_back(i);
  return list;
}

}  // namespace

TEST_CASE("time without a processor is divided between work and waits") {
  const auto of = [](const Rank& rank) { return preempted(run_of({rank}, {})[0].facts); };
  // 3 s lack in work, 1 s in waits.
  // What waits cannot have lost fell on work.
  const Preempted even = of({.work = 5, .work_cpu = 2, .wait = 5, .wait_cpu = 4, .runnable = 2});
  CHECK(std::abs(even.work_ns - 1 * kSecond) < 1);
  CHECK(std::abs(even.waits_ns - 1 * kSecond) < 1);
  const Preempted all = of({.work = 5, .work_cpu = 2, .wait = 5, .wait_cpu = 4, .runnable = 9});
  CHECK(std::abs(all.work_ns - 3 * kSecond) < 1);
  CHECK(std::abs(all.waits_ns - 1 * kSecond) < 1);
  const Preempted none = of({.work = 5, .work_cpu = 5, .wait = 5, .wait_cpu = 5, .runnable = 0.1});
  CHECK(none.work_ns == 0);
  CHECK(none.waits_ns == 0);
  // Asleep, it was not ready to run: all of that fell on work.
  const Preempted asleep = of({.work = 5, .work_cpu = 2, .wait = 5, .runnable = 2.5, .slept = 5});
  CHECK(std::abs(asleep.work_ns - 2.5 * kSecond) < 1);
  CHECK(asleep.waits_ns == 0);
}

TEST_CASE("ranks that sleep in their work and yield in their waits are not the machine's") {
  std::vector<Rank> ranks(8, {.work = 4, .work_cpu = 0.1, .wait = 6, .wait_cpu = 2, .runnable = 3.5});
  ranks[3] = {.work = 9.5, .work_cpu = 0.1, .wait = 0.5, .wait_cpu = 0.1, .runnable = 0.4};
  CHECK(suspects_of(ranks).empty());
}

TEST_CASE("who shares processors is named, even if it loses nothing itself") {
  std::vector<Rank> ranks(4, {.work = 6, .work_cpu = 3, .wait = 4, .wait_cpu = 2, .runnable = 5});
  ranks[3] = {.work = 0.1, .work_cpu = 0.1, .wait = 9.9, .wait_cpu = 5, .runnable = 4.9};
  const auto suspects = suspects_of(ranks);
  REQUIRE(suspects.size() == 1);
  CHECK(suspects[0].locations == numbers(4));
}

TEST_CASE("a healthy run on enough processors is not the machine's") {
  CHECK(suspects_of({{.work = 9, .work_cpu = 8.9, .wait = 1, .wait_cpu = 1, .runnable = 0.05},
                     {.work = 5, .work_cpu = 4.9, .wait = 5, .wait_cpu = 5, .runnable = 0.05}})
            .empty());
}

TEST_CASE("a rank that sleeps is not the machine's") {
  CHECK(suspects_of({{.work = 9, .work_cpu = 1, .wait = 1, .wait_cpu = 1, .runnable = 0.02},
                     {.work = 1, .work_cpu = 1, .wait = 9, .wait_cpu = 9, .runnable = 0.02}})
            .empty());
}

TEST_CASE("waiting without a processor is no loss") {
  // Both yield while they wait for a third program's answer.
  CHECK(suspects_of({{.work = 2, .work_cpu = 2, .wait = 8, .wait_cpu = 1, .runnable = 7},
                     {.work = 2, .work_cpu = 2, .wait = 8, .wait_cpu = 1, .runnable = 7}})
            .empty());
}

TEST_CASE("8 ranks on 2 processors are oversubscribed") {
  const std::vector<Rank> ranks(8, {.work = 6, .work_cpu = 2, .wait = 4, .wait_cpu = 0.5, .runnable = 7});
  const auto suspects = suspects_of(ranks);
  REQUIRE(suspects.size() == 1);
  const MachineSuspect& s = suspects[0];
  CHECK(s.kind == MachineKind::oversubscribed);
  CHECK_FALSE(s.by_others);
  CHECK(s.processors == 2);
  CHECK(s.wanted == 7600);
  CHECK(s.locations == numbers(8));
  // 7 s without a processor, of which waits lack 3.5 s.
  CHECK(std::abs(static_cast<double>(s.lost_ns) - 8 * 3.5 * kSecond) < 10);
  CHECK(s.explains_ns == s.lost_ns);
}

TEST_CASE("idleness that CPU time outside waits explains by itself is not the machine's") {
  // Rank 0 has twice the work; the others wait for it, at last on a machine of their own.
  std::vector<Rank> ranks(4, {.work = 6, .work_cpu = 3, .wait = 3, .wait_cpu = 3, .runnable = 3});
  ranks[0] = {.work = 9, .work_cpu = 6, .wait = 0, .runnable = 3};
  const auto suspects = suspects_of(ranks);
  REQUIRE(suspects.size() == 1);  // a tenth of the work is lost: said, and first
  CHECK(suspects[0].kind == MachineKind::oversubscribed);
  CHECK(suspects[0].explains_ns == 0);
  CHECK(suspects[0].lost_ns == ns(12));
}

TEST_CASE("two ranks on one of two processors are bound together, where the other is idle") {
  const std::vector<Rank> ranks(
      2, {.work = 8, .work_cpu = 4, .wait = 2, .wait_cpu = 1, .runnable = 5, .mask = processors(0, 0)});
  const auto idle = suspects_of(ranks, {.idle = 9.5});
  REQUIRE(idle.size() == 1);
  CHECK(idle[0].kind == MachineKind::bound_together);
  CHECK(idle[0].processors == 1);
  CHECK(idle[0].free == 950);
  CHECK(idle[0].locations == numbers(2));
  const auto busy = suspects_of(ranks, {.idle = 0.1});
  REQUIRE(busy.size() == 1);
  CHECK(busy[0].kind == MachineKind::oversubscribed);
  // The control group allows no other processor.
  const auto confined = suspects_of(ranks, {.allowed = 1, .idle = 9.5});
  REQUIRE(confined.size() == 1);
  CHECK(confined[0].kind == MachineKind::oversubscribed);
}

TEST_CASE("ranks that are bound to processors of their own are not bound together") {
  CHECK(suspects_of({{.work = 9, .work_cpu = 9, .wait = 1, .wait_cpu = 1, .mask = processors(0, 0)},
                     {.work = 6, .work_cpu = 6, .wait = 4, .wait_cpu = 4, .mask = processors(1, 1)}})
            .empty());
}

TEST_CASE("of ranks that are bound, only those that share are named") {
  std::vector<Rank> ranks(4, {.work = 5, .work_cpu = 5, .wait = 5, .wait_cpu = 5});
  ranks[0] = ranks[1] = {.work = 10, .work_cpu = 5, .runnable = 5, .mask = processors(0, 0)};
  ranks[2].mask = processors(2, 2);
  ranks[3].mask = processors(3, 3);
  const auto suspects = suspects_of(ranks, {.online = 4, .allowed = 4, .idle = 10});
  REQUIRE(suspects.size() == 1);
  CHECK(suspects[0].kind == MachineKind::bound_together);
  CHECK(suspects[0].locations == numbers(2));
  CHECK(suspects[0].explains_ns == ns(10));  // all of it
}

TEST_CASE("a busy neighbour makes threads lose processors that they do not fight for themselves") {
  const auto suspects =
      suspects_of({{.work = 10, .work_cpu = 5, .wait = 0, .runnable = 5, .mask = processors(0, 0)},
                   {.work = 5, .work_cpu = 5, .wait = 5, .wait_cpu = 5, .mask = processors(1, 1)}});
  REQUIRE(suspects.size() == 1);
  CHECK(suspects[0].kind == MachineKind::oversubscribed);
  CHECK(suspects[0].by_others);
  CHECK(suspects[0].others == 500);
  CHECK(suspects[0].locations == numbers(1));
  CHECK(suspects[0].explains_ns == ns(5));
}

TEST_CASE("a quota is named where it stopped the group") {
  const std::vector<Rank> ranks(2, {.work = 8, .work_cpu = 4, .wait = 2, .wait_cpu = 1, .runnable = 5});
  const auto stopped = suspects_of(ranks, {.idle = 10, .quota = 1000, .throttled = 6});
  REQUIRE(stopped.size() == 1);
  CHECK(stopped[0].kind == MachineKind::quota);
  CHECK(stopped[0].quota == 1000);
  const auto unused = suspects_of(ranks, {.idle = 2, .quota = 1000, .throttled = 0.1});
  REQUIRE(unused.size() == 1);
  CHECK(unused[0].by_others);
}

TEST_CASE("where nothing else used the processors nobody is accused") {
  CHECK(suspects_of({{.work = 10, .work_cpu = 5, .wait = 0, .runnable = 5},
                     {.work = 5, .work_cpu = 5, .wait = 5, .wait_cpu = 5}},
                    {.idle = 4.5})
            .empty());
}

TEST_CASE("what the run's brief threads ran, and may have run unseen, no other program used") {
  // Of 20 s of two processors the main thread ran 5 s.
  const std::vector<ThreadOnHost> main =
      run_of({{.work = 10, .work_cpu = 5, .wait = 0, .runnable = 5, .mask = {}}}, {});
  const auto others_with = [&](const BriefThreads& brief) {
    const auto suspects =
        find_machine_suspects({.threads = main, .brief = {{0, brief}}, .period_ns = 5'000'000});
    return suspects.empty() ? 0 : suspects[0].others;
  };
  CHECK(others_with({}) == 1500);  // thousandths, but for a period
  CHECK(others_with({.threads = 800, .cpu_ns = ns(2)}) == 900);
  CHECK(others_with({.threads = 800, .cpu_ns = ns(10)}) == 0);
  CHECK(others_with({.threads = 5000, .cpu_ns = ns(1)}) == 0);
}

TEST_CASE("hosts are looked at one by one, and named together where they are alike") {
  std::vector<Rank> ranks(6, {.work = 6, .work_cpu = 3, .wait = 4, .wait_cpu = 2, .runnable = 5});
  for (std::size_t i = 3; i < 6; ++i) ranks[i].host = 1;
  ranks.push_back({.work = 5, .work_cpu = 5, .wait = 5, .wait_cpu = 5, .host = 2});
  const auto suspects = suspects_of(ranks);
  REQUIRE(suspects.size() == 1);
  CHECK(suspects[0].kind == MachineKind::oversubscribed);
  CHECK(suspects[0].locations == numbers(6));
}

TEST_CASE("a slow processor needs more time for the same instructions") {
  std::vector<Rank> ranks(4, {.work = 5, .work_cpu = 5, .wait = 2, .wait_cpu = 2, .instructions = 1});
  ranks[2] = {.work = 7, .work_cpu = 7, .wait = 0, .instructions = 1.01};
  const auto slow = suspects_of(ranks, {.online = 8, .allowed = 8});
  REQUIRE(slow.size() == 1);
  CHECK(slow[0].kind == MachineKind::slow);
  CHECK(slow[0].locations == std::vector<std::uint32_t>{2});
  CHECK(slow[0].lost_ns == ns(2));
  CHECK(slow[0].explains_ns == ns(6));
  ranks[2].instructions = 1.4;  // it does more
  CHECK(suspects_of(ranks, {.online = 8, .allowed = 8}).empty());
  for (Rank& rank : ranks) rank.instructions = 0;  // not counted
  CHECK(suspects_of(ranks, {.online = 8, .allowed = 8}).empty());
}

TEST_CASE("where nothing is known of threads nothing is claimed") {
  std::vector<ThreadOnHost> threads =
      run_of(std::vector<Rank>(8, {.work = 6, .work_cpu = 2, .wait = 4, .wait_cpu = 0.5, .runnable = 7}), {});
  for (ThreadOnHost& thread : threads) thread.facts.ran_ns = thread.facts.runnable_ns = 0;
  CHECK(find_machine_suspects({.threads = threads}).empty());
  CHECK(find_machine_suspects({}).empty());
}

}  // namespace machine_test
