// Facts of single threads that meet at rank 0, whichever rank of the analysis had them.
#include "merge/diagnosis/diagnose.hpp"

#include "diagnosed_run.hpp"

#include <catch2/catch.hpp>

namespace diagnose_test {

using namespace culprit;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

database::Experiment facts_of(const DiagnosedRun& run, int ranks) {
  const merge::Plan plan(run.shape, std::vector<std::uint8_t>{0, 0, 0, 1, 1});
  const database::EachLocation locations = [&](const std::function<void(const database::Location&)>& visit) {
    for (std::size_t t = 0; t < run.threads.size(); ++t) {
      database::Location location;
      location.rank = static_cast<std::int32_t>(t);
      location.pid = t;
      location.host = "host";
      visit(location);
    }
  };
  database::Experiment at_root;
  run.analyse(ranks, [&](exchange::Communicator& comm, merge::ThreadAccumulation& accumulation) {
    const merge::Summaries summaries = merge::summarize(comm, run.shape, plan, accumulation.roles());
    database::Experiment experiment;
    merge::gather_facts(comm, accumulation.run(), summaries, locations, experiment);
    if (comm.rank() == 0) at_root = std::move(experiment);
  });
  return at_root;
}

/// Four ranks that each had a processor for half of ten seconds of work.
DiagnosedRun crowded() {
  DiagnosedRun run;
  run.host_load = {.span_ns = 10 * kSecond, .online = 2, .allowed = 2, .idle_ns = 0};
  for (int t = 0; t < 4; ++t) {
    run.thread(8 * kSecond, 2 * kSecond);
    measurement::ThreadProfile& thread = run.threads.back();
    thread.lived_ns = 10 * kSecond;
    thread.cells[0].cpu_ns = 4 * kSecond;
    thread.cells[1].cpu_ns = kSecond;
    thread.schedule.ran_ns = 5 * kSecond;
    thread.schedule.runnable_ns = 5 * kSecond;
  }
  return run;
}

}  // namespace

TEST_CASE("how threads were scheduled is in the order of locations, and makes the machine a suspect") {
  const DiagnosedRun run = crowded();
  const database::Machine alone = facts_of(run, 1).machine;
  REQUIRE(alone.threads.size() == 4);
  for (std::uint32_t t = 0; t < 4; ++t) {
    CHECK(alone.threads[t].location == t);
    CHECK(alone.threads[t].work_ns == 10 * kSecond);
    CHECK(alone.threads[t].work_cpu_ns == 5 * kSecond);
  }
  REQUIRE(alone.suspects.size() == 1);
  CHECK(alone.suspects[0].kind == database::MachineKind::oversubscribed);
  CHECK(alone.suspects[0].locations == std::vector<std::uint32_t>{0, 1, 2, 3});
  for (const int ranks : {2, 3, 5}) CHECK(facts_of(run, ranks).machine == alone);
}

TEST_CASE("what threads ran of which the kernel was not asked, no other program used") {
  DiagnosedRun run = crowded();
  run.threads.resize(1);
  const auto suspects = [&] { return facts_of(run, 2).machine.suspects; };
  REQUIRE(suspects().size() == 1);
  CHECK(suspects()[0].by_others);
  CHECK(suspects()[0].others == 1500);  // 20 s of two processors, less 5
  run.thread(8 * kSecond, 2 * kSecond);
  run.threads[1].cells[0].cpu_ns = 6 * kSecond;
  REQUIRE(suspects().size() == 1);
  CHECK(suspects()[0].others == 900);
  run.threads[1].cells[0].cpu_ns = 15 * kSecond;
  CHECK(suspects().empty());
}

TEST_CASE("threads of which nothing is known leave no facts") {
  DiagnosedRun run;
  run.thread(100, 10);
  run.thread(200, 20);
  for (const int ranks : {1, 2}) {
    const database::Experiment found = facts_of(run, ranks);
    CHECK(found.machine == database::Machine{});
    CHECK(found.waits.empty());
    CHECK(found.varying_gaps.empty());
  }
}

}  // namespace diagnose_test
