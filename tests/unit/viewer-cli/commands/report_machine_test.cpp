// What the report says where processors lack.
#include "findings/crowded.hpp"
#include "findings/machine.hpp"
#include "findings/phrases.hpp"
#include "text/prose.hpp"
#include "viewer-cli/commands/simple_sample.hpp"
#include "viewer-cli/run.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace culprit::viewer::testing::report_machine_test {
namespace {

/// Each of four threads works for 3 of 5 s, and was ready to run for 2 s, in its work or while it waited.
void lack_processors(database::Experiment& e, bool in_work) {
  for (std::uint32_t location = 0; location < 4; ++location) {
    e.machine.threads.push_back({.location = location,
                                 .ran_ns = 3 * kSecond,
                                 .runnable_ns = 2 * kSecond,
                                 .lived_ns = 5 * kSecond,
                                 .sampled_ns = 5 * kSecond,
                                 .idle_ns = 2 * kSecond,
                                 .cpu_ns = 3 * kSecond,
                                 .work_ns = 3 * kSecond,
                                 .work_cpu_ns = (in_work ? 1 : 3) * kSecond});
  }
}

}  // namespace

TEST_CASE("Waiting without a processor is unexplained for that reason") {
  SimpleSample starved(4, 3, 2, true);
  lack_processors(starved.sample.build(), false);
  CHECK(holds(
      flowing(run(starved.sample, {})),
      "No code explains it. For up to all of it, ranks had no processor; whether they waited for late ranks "
      "then, only hpcrun-lite --trace shows."));
}

TEST_CASE(
    "Who lacks processors is said with what is lacked in waits, and commands beside ranks are not named") {
  SimpleSample starved(4, 3, 2, true);
  database::Experiment& e = starved.sample.build();
  lack_processors(e, true);
  e.machine.suspects.push_back(
      {.kind = database::MachineKind::oversubscribed, .lost_ns = 8 * kSecond, .locations = {0, 1, 2, 3}});
  CHECK(
      run(starved.sample, {})
          .starts_with(
              "Starved of processors: ranks 0-3 on host node1 were ready to run, without one, for 40 % of"));
  starved.sample.build().locations[3].rank = -1;
  CHECK(
      run(starved.sample, {})
          .starts_with(
              "Starved of processors: ranks 0-2 on host node1 were ready to run, without one, for 40 % of"));
}

TEST_CASE("A rank without others waits for none of them when it lacks a processor") {
  SimpleSample alone(1, 3, 2, true);
  alone.sample.build().machine.threads.push_back({.location = 0,
                                                  .ran_ns = 3 * kSecond,
                                                  .runnable_ns = 2 * kSecond,
                                                  .lived_ns = 5 * kSecond,
                                                  .sampled_ns = 5 * kSecond,
                                                  .idle_ns = 2 * kSecond,
                                                  .cpu_ns = 3 * kSecond,
                                                  .work_ns = 3 * kSecond,
                                                  .work_cpu_ns = 3 * kSecond});
  const std::string report = flowing(run(alone.sample, {}));
  INFO(report);
  CHECK_FALSE(holds(report, "late ranks."));
  CHECK(holds(report, "For up to all of it, the rank had no processor."));
}

TEST_CASE("Where ranks run is said first, and that they may use some of the processors only") {
  SimpleSample starved(4, 3, 2, true);
  const auto bind = [&](std::uint16_t usable, std::uint32_t allowed) {
    database::Experiment& e = starved.sample.build();
    e.machine = {};
    lack_processors(e, true);
    for (database::ScheduledThread& thread : e.machine.threads) {
      thread.online = 4;
      thread.allowed = allowed;
      for (std::uint16_t processor = 0; processor < usable; ++processor) thread.processors.add(processor);
    }
    e.machine.suspects.push_back({.processors = usable,
                                  .wanted = 5000,
                                  .lost_ns = 8 * kSecond,
                                  .explains_ns = 8 * kSecond,
                                  .locations = {0, 1, 2, 3}});
    return flowing(run(starved.sample, {}));
  };
  CHECK(holds(bind(4, 4), "Starved of processors: ranks 0-3 on host node1 (4 processors) were ready to run"));
  CHECK(holds(bind(4, 4), "Start fewer ranks or threads per host before"));
  const std::string bound = bind(2, 4);
  INFO(bound);
  CHECK(
      holds(bound, "ranks 0-3 on host node1, where they may use only 2 of 4 processors, were ready to run"));
  CHECK(holds(bound, "ranks 0-3 may use only 2 of the 4 processors, and 5 threads want one at a time."));
  CHECK(holds(bound, "They are bound to 2 processors: let them use all of the host"));
  const std::string limited = bind(2, 2);  // by their control group
  CHECK(holds(limited, "ranks 0-3 may use only 2 of the 4 processors"));
  CHECK(holds(limited, "Start fewer ranks or threads per host before"));
}

TEST_CASE("Who is bound to some processors is sent to the others only if no other rank has them") {
  SimpleSample starved(4, 3, 2, true);
  database::Experiment& e = starved.sample.build();
  lack_processors(e, true);
  for (database::ScheduledThread& thread : e.machine.threads) {
    thread.online = thread.allowed = 2;
    thread.processors.add(thread.location < 3 ? 0 : 1);
  }
  e.machine.suspects.push_back(
      {.processors = 1, .wanted = 2500, .lost_ns = 8 * kSecond, .locations = {0, 1, 2}});
  const std::string fewer = "start fewer ranks or threads", first = " before you change code.";
  CHECK(holds(flowing(run(starved.sample, {})),
              "They are bound to 1 processor, and other threads of the run may use the others: " + fewer +
                  ", or give each rank as many processors as it has threads," + first));
  starved.sample.build().machine.threads[3].processors = e.machine.threads[0].processors;
  CHECK(holds(flowing(run(starved.sample, {})),
              "They are bound to 1 processor: let them use all of the host (such as mpirun --bind-to none, "
              "without taskset), or " +
                  fewer + first));
}

TEST_CASE("Where processors lack, the report says that waiting workers of OpenMP could sleep") {
  SimpleSample starved(4, 3, 2, true);
  const auto report_of = [&](const std::string& role, bool by_others) {
    database::Experiment& e = starved.sample.build();
    e.machine = {};
    lack_processors(e, true);
    e.machine.suspects.push_back({.by_others = by_others,
                                  .processors = 2,
                                  .wanted = 4000,
                                  .lost_ns = 8 * kSecond,
                                  .locations = {0, 1, 2, 3}});
    e.roles[0].name = role;
    return flowing(run(starved.sample, {}));
  };
  CHECK_FALSE(holds(report_of("worker", false), "OMP_WAIT_POLICY"));
  CHECK(holds(report_of("OpenMP worker", false),
              "before you change code. Waiting OpenMP workers took 67 % of the CPU time: with "
              "OMP_WAIT_POLICY=passive they sleep instead."));
  CHECK_FALSE(holds(report_of("OpenMP worker", true), "OMP_WAIT_POLICY"));
}

TEST_CASE("The machine is named before any code") {
  using database::MachineKind;
  SimpleSample waiting(4, 3, 2, true);
  const auto report_of = [&](database::MachineSuspect suspect) {
    suspect.locations = {0, 1, 2, 3};
    suspect.lost_ns = 6 * kSecond;
    suspect.explains_ns = 5 * kSecond;
    waiting.sample.build().machine.suspects = {suspect};
    return flowing(run(waiting.sample, {}));
  };
  for (std::uint32_t location = 0; location < 4; ++location)
    waiting.sample.build().machine.threads.push_back({.location = location, .work_ns = 3 * kSecond});
  const std::string effect =
      " Ranks 0-3 were ready to run, without a processor, for at least 6.00 s, 50 % of their work; this "
      "explains "
      "at most 5.00 s of the 8.00 s of waiting. ";
  const std::string rest = " before you change code.  40.0 % of the run is waiting";
  const auto starts = [&](const std::string& text, const std::string& cause, const std::string& advice) {
    INFO(text);
    CHECK(holds(text, "The machine is the first suspect: on host node1, " + cause + effect + advice + rest));
  };
  starts(report_of({.kind = MachineKind::oversubscribed, .processors = 2, .wanted = 3600}),
         "ranks 0-3 share 2 processors, and 3.6 threads want one at a time.",
         "Start fewer ranks or threads per host");
  starts(report_of({.kind = MachineKind::oversubscribed, .processors = 2, .wanted = 1900}),
         "ranks 0-3 share 2 processors.", "Start fewer ranks or threads per host");
  starts(report_of({.kind = MachineKind::oversubscribed, .by_others = true, .processors = 2, .others = 1020}),
         "programs that were not measured take processors from ranks 0-3: on average they used 1 processor.",
         "Measure again where nothing else runs");
  starts(report_of({.kind = MachineKind::bound_together, .processors = 1, .free = 2500}),
         "ranks 0-3 are bound to the same 1 processor, while 2.5 processors were idle.",
         "Bind each rank to processors of its own (for example mpirun --bind-to core)");
  std::vector<database::ScheduledThread>& threads = waiting.sample.build().machine.threads;
  for (database::ScheduledThread& thread : threads)
    thread.processors.add(static_cast<std::uint16_t>(thread.location / 2));
  starts(report_of({.kind = MachineKind::oversubscribed, .processors = 1, .wanted = 2000}),
         "ranks 0-3 are bound to 2 separate sets of 1 processor, and up to 2 threads want one of a set at a "
         "time.",
         "Start fewer ranks or threads per host");
  for (database::ScheduledThread& thread : threads) {
    thread.processors = {};
    thread.processors.add(static_cast<std::uint16_t>(thread.location));
  }
  starts(report_of({.kind = MachineKind::bound_together, .processors = 1, .wanted = 1800, .free = 2500}),
         "each of ranks 0-3 has 1 processor of its own, and up to 1.8 threads want it at a time.",
         "Bind each rank to as many processors as it has threads (for example mpirun --map-by slot:PE=2)");
  starts(report_of({.kind = MachineKind::quota, .quota = 1500}),
         "a control group's limit of 1.5 processors stops ranks 0-3.",
         "Raise that limit, or start fewer ranks or threads");
  CHECK(
      report_of({.kind = MachineKind::slow}).find("That is 6.00 s too much; this explains at most 5.00 s") !=
      std::string::npos);

  const nlohmann::json machine =
      nlohmann::json::parse(run(waiting.sample, {"report", "--format", "json"}))["machine"];
  CHECK(machine == nlohmann::json::parse(R"([{"kind": "slow", "hosts": ["node1"], "ranks": [0, 1, 2, 3],
    "explains_s": 5.0, "lost_s": 6.0, "processors": 0, "by_others": false}])"));
}

TEST_CASE("Ranks that are more than their host's processors are counted") {
  const auto have = [](std::uint32_t online, std::uint16_t bound) {
    SimpleSample run(4, 4, 1, true);
    std::vector<database::ScheduledThread>& threads = run.sample.build().machine.threads;
    threads.clear();
    for (std::uint32_t location = 0; location < 4; ++location) {
      threads.push_back({.location = location, .online = online});
      for (std::uint16_t processor = 0; processor < bound; ++processor)
        threads.back().processors.add(processor);
    }
    return unwrapped(crowded_hosts_phrase(run.sample.experiment()));
  };
  CHECK(have(2, 0) == "ranks 0-3 share 2 processors on host node1");
  CHECK(have(8, 3) == "ranks 0-3 share 3 processors on host node1");
  CHECK(have(4, 0).empty());
  CHECK(have(0, 0).empty());
}

TEST_CASE("Sleep and preemption are distinguished where the kernel counted") {
  SimpleSample asleep(2, 4, 1, true);
  const auto share_with = [&](std::uint64_t runnable_ns) {
    asleep.sample.build().machine.threads.clear();
    for (std::uint32_t location = 0; location < 2; ++location)
      asleep.sample.build().machine.threads.push_back({.location = location,
                                                       .ran_ns = 2 * kSecond,
                                                       .runnable_ns = runnable_ns,
                                                       .lived_ns = 5 * kSecond,
                                                       .sampled_ns = 5 * kSecond,
                                                       .idle_ns = kSecond,
                                                       .cpu_ns = 2 * kSecond,
                                                       .work_ns = 4 * kSecond,
                                                       .work_cpu_ns = kSecond});
    return runnable_share(asleep.sample.experiment(), 0);
  };
  CHECK(share_with(0) == 0.0);
  CHECK(share_with(3 * kSecond) == 1.0);
}

}  // namespace culprit::viewer::testing::report_machine_test
