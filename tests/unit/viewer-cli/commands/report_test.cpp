// The report's words, in the situations that it must read well for.
#include "commands/report.hpp"

#include "commands/report_parts.hpp"
#include "findings/diagnosis.hpp"
#include "findings/machine.hpp"
#include "findings/phrases.hpp"
#include "findings/verdict.hpp"
#include "text/prose.hpp"
#include "viewer-cli/commands/simple_sample.hpp"
#include "viewer-cli/run.hpp"
#include "views/solver_sample.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace culprit::viewer::testing {
namespace {

using database::Balance;
using database::ContextId;
using database::ContextKind;
using views::testing::SampleExperiment;
using views::testing::SolverSample;
using views::testing::WorkersSample;

}  // namespace

TEST_CASE("The diagnosis names the blamed loop, the suspect, its ranks and what mending is worth") {
  const SolverSample solver;
  CHECK(run(solver.sample, {}) ==
        R"(Uneven work in loop at spmv.c:90 in spmv: 41 % more work on ranks 3, 7. The others wait for that
15 % of the time.

21.4 % of the run is waiting (1 710 of 8 000 rank-seconds); 100 % of that in MPI_Allreduce. It is
1 230 s for late ranks and 480 s of a kind that only hpcrun-lite --trace shows.
All of the waiting happens inside the loop at solver.c:412 in cg_iterate, which takes equally long
on all ranks: the cause is inside it.
  suspect  loop at spmv.c:90 in spmv   41 % more work on ranks 3, 7   explains 1 230 s
  Balanced over the ranks, it would save about 15 % of the run time; if ranks 3, 7 did no more than
  the others, up to 20 %.
  480 s remain unexplained: sums over the run do not show what ranks waited for; hpcrun-lite --trace
  does.

Most work is done in spmv at spmv.c:88 (55 %) and dot in cg_iterate (22 %).

Measured: 8 ranks, 8 threads, 1 600 000 samples at 200/s; no partial unwinds, no addresses without a
name, none dropped; sampling took under 0.1 % of the CPU time.
)");
}

namespace {

/// main → loop → { smooth, flux } → pause_for → line; flux calls it from two places.
struct HelperSample {
  HelperSample() : sample({"REALTIME", "idleness"}) {
    const std::uint32_t role = sample.add_role("main");
    const std::uint8_t wait = database::kFrontier | database::kInWait;
    const ContextId program = sample.add(0, {ContextKind::root, "<program root>", "", 0, ""});
    const ContextId main = sample.add(program, {ContextKind::procedure, "main", "a.c", 3});
    loop = sample.add(main, {ContextKind::loop, "", "a.c", 40});
    const ContextId barrier =
        sample.add(loop, {ContextKind::procedure, "MPI_Barrier", "", 0, "libmpi.so", wait});
    const ContextId inside =
        sample.add(barrier, {ContextKind::statement, "", "", 0, "libmpi.so", database::kInWait});
    smooth = sample.add(loop, {ContextKind::procedure, "smooth", "a.c", 20});
    in_smooth = add_helper(smooth);
    for (const char* const caller : {"flux_x", "flux_y"}) {
      const ContextId flux = sample.add(loop, {ContextKind::procedure, caller, "a.c", 30});
      limiters.push_back(sample.add(flux, {ContextKind::procedure, "limit", "a.c", 25}));
      in_limiters.push_back(add_helper(limiters.back()));
    }
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      sample.add_location(static_cast<std::int32_t>(rank), 0, role);
      for (const ContextId line : {in_smooth, in_limiters[0], in_limiters[1]})
        sample.set(line, 0, rank, (rank == 0 ? 3 : 2) * kSecond);
      sample.set(inside, 0, rank, rank == 0 ? 0 : 3 * kSecond);
      sample.set(inside, 1, rank, rank == 0 ? 0 : 3 * kSecond);
    }
    sample.finish();
    sample.build().blame[0] = {{main, kSecond, 0, kSecond}, {loop, 2 * kSecond, 0, 2 * kSecond}};
  }

  ContextId add_helper(ContextId caller) {
    const ContextId helper = sample.add(caller, {ContextKind::procedure, "pause_for", "a.c", 9});
    return sample.add(helper, {ContextKind::statement, "", "a.c", 11});
  }

  void suspect(ContextId named, ContextId line, database::Confidence confidence = database::Confidence::sure,
               database::Doubt doubt = database::Doubt::none) {
    sample.build().suspects.push_back({.role = 0,
                                       .balanced = loop,
                                       .suspect = line,
                                       .locations = {0},
                                       .excess_ns = kSecond / 2,
                                       .explains_ns = kSecond / 2,
                                       .save_balanced_ns = kSecond / 4,
                                       .save_removed_ns = kSecond / 2,
                                       .named = named,
                                       .confidence = confidence,
                                       .doubt = doubt,
                                       .scopes = {line},
                                       .explained = {{loop, kSecond / 2}}});
  }

  SampleExperiment sample;
  ContextId loop = 0, smooth = 0, in_smooth = 0;
  std::vector<ContextId> limiters, in_limiters;
};

/// What the report says of blamed code, where its suspect was balanced in a replay.
std::string said_of_blame(HelperSample& helper, ReplayedSaving saving) {
  const views::Figures figures(helper.sample);
  const Diagnosis diagnosis = diagnose(figures);
  const ReplayedSuspects replayed = {{{&figures.experiment().suspects().front()}, saving}};
  ReportWriter out(figures.experiment(), 200, false);
  const std::string database;
  BlameParagraphs({.figures = figures, .database = database, .diagnosis = diagnosis, .replayed = replayed},
                  out)
      .write(false, false);
  std::string text;
  for (const ReportParagraph& paragraph : out.take())
    for (const ReportPart& part : paragraph.parts) text += part.text + ' ';
  return wrap(text, 1000);
}

}  // namespace

TEST_CASE("A saving has one figure, and no limit below it") {
  HelperSample helper;  // the longer rank lasts 9 s
  helper.suspect(helper.smooth, helper.in_smooth);
  const std::string below = said_of_blame(helper, {.ns = 300'000'000});
  INFO(below);
  CHECK(holds(below,
              "save 3 % of the run time (300 ms, by a replay of the time lines); if rank 0 did no more "
              "than the others, up to 6 %."));
  CHECK(holds(said_of_blame(helper, {.ns = 600'000'000}),
              "save 7 % of the run time (600 ms, by a replay of the time lines)."));
  CHECK(holds(said_of_blame(helper, {.ns = 0}), "it would save at most 3 % of the run time."));
  // Work that a replay cannot place makes waits of its own: the saving is between both.
  CHECK(
      holds(said_of_blame(helper, {.ns = 200'000'000, .placed_blindly = true}),
            "save between 2 % (200 ms, by a replay of the time lines) and 3 % of the run time, depending on "
            "when the others do their part; if rank 0"));
}

TEST_CASE("A suspect is named by the function that stands out, with the place inside it") {
  HelperSample helper;
  helper.suspect(helper.smooth, helper.in_smooth);
  const std::string report = run(helper.sample, {});
  INFO(report);
  CHECK(holds(report, "suspect  smooth (in pause_for at a.c:11)"));
  CHECK_FALSE(holds(report, "surer"));
}

TEST_CASE("Suspects that would read the same get the callers that tell them apart") {
  HelperSample helper;
  for (std::size_t i = 0; i < 2; ++i) helper.suspect(helper.limiters[i], helper.in_limiters[i]);
  const std::string report = run(helper.sample, {});
  INFO(report);
  CHECK(holds(report, "limit (in pause_for at a.c:11), called by flux_x"));
  CHECK(holds(report, "limit (in pause_for at a.c:11), called by flux_y"));
  CHECK(holds(run(helper.sample, {}, 55),
              "  suspect  limit (in pause_for at a.c:11), called by\n"
              "           flux_x\n"));
  const database::ContextId flux_x = enclosing_procedure(
      helper.sample.experiment(), helper.sample.experiment().contexts[helper.limiters[0]].parent);
  helper.sample.build().contexts[flux_x].flags |= database::kRunTime;  // as libgomp is
  const std::string past_libraries = run(helper.sample, {});
  INFO(past_libraries);
  CHECK_FALSE(holds(past_libraries, "called by flux_x"));
  CHECK(holds(past_libraries, "limit (in pause_for at a.c:11), called by flux_y"));
}

TEST_CASE("Suspects that differ in nothing that has a name get their ids") {
  HelperSample helper;
  for (int i = 0; i < 2; ++i) helper.suspect(helper.smooth, helper.in_smooth);
  CHECK(holds(run(helper.sample, {}), "[c" + std::to_string(helper.in_smooth) + "]"));
}

TEST_CASE("Where a suspect is not sure, the report says so, and what would make it surer") {
  HelperSample helper;
  helper.suspect(helper.smooth, helper.in_smooth, database::Confidence::likely, database::Doubt::sampling);
  helper.suspect(helper.limiters[0], helper.in_limiters[0], database::Confidence::hint,
                 database::Doubt::rivals);
  const std::string report = run(helper.sample, {});
  INFO(report);
  CHECK(holds(report, "(likely, surer with a longer run)"));
  CHECK(holds(report, "(a hint, surer with --trace)"));
  CHECK(holds(run(helper.sample, {"suspects"}), "surer with"));
}

TEST_CASE("A suspect of several balanced scopes is named once, with what it explains of each") {
  HelperSample helper;
  helper.suspect(helper.smooth, helper.in_smooth);
  const ContextId main = helper.sample.experiment().contexts[helper.loop].parent;
  helper.sample.build().suspects[0].explained.push_back({main, kSecond / 5});
  const std::string report = run(helper.sample, {});
  INFO(report);
  CHECK(report.find("suspect  smooth") == report.rfind("suspect  smooth"));
  CHECK(holds(report, "Suspects named above explain 200 ms of it."));
}

TEST_CASE("At 80 columns no line is longer") {
  for (const std::size_t width : {60U, 80U}) {
    for (const bool unicode : {true, false}) {
      const SolverSample solver;
      const std::string text = run(solver.sample, {}, width, unicode);
      for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = text.find('\n', begin);
        INFO(text.substr(begin, end - begin));
        CHECK(end - begin <= width);
        begin = end + 1;
      }
    }
  }
}

TEST_CASE("Excess without CPU time is not the code's fault, and the report says so") {
  SolverSample solver;
  // The two slow ranks took no more CPU time than the others.
  SampleExperiment sample({"REALTIME", "idleness", "CPU"});
  const std::uint32_t role = sample.add_role("main");
  const ContextId main = sample.add(0, {ContextKind::procedure, "main", "a.c", 3});
  const ContextId loop = sample.add(main, {ContextKind::loop, "", "a.c", 4});
  const ContextId work = sample.add(loop, {ContextKind::statement, "", "a.c", 5});
  const ContextId barrier = sample.add(loop, {ContextKind::procedure, "MPI_Barrier", "", 0, "libmpi.so",
                                              database::kFrontier | database::kInWait});
  const ContextId wait =
      sample.add(barrier, {ContextKind::statement, "", "", 0, "libmpi.so", database::kInWait});
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    sample.add_location(static_cast<std::int32_t>(rank), 0, role);
    const std::uint64_t wall = rank == 2 ? 20 : 10;
    sample.set(work, 0, rank, wall * kSecond);
    sample.set(work, 2, rank, 10 * kSecond);
    sample.set(wait, 0, rank, (20 - wall) * kSecond);
    sample.set(wait, 1, rank, (20 - wall) * kSecond);
  }
  sample.finish();
  sample.build().blame[0] = {{loop, 30 * kSecond, 0, 0}};
  sample.build().suspects = {{0,
                              loop,
                              work,
                              {2},
                              7'500'000'000,
                              30 * kSecond,
                              7'500'000'000,
                              10 * kSecond,
                              work,
                              database::Confidence::sure,
                              database::Doubt::none,
                              {work},
                              {{loop, 30 * kSecond}}}};
  const std::string text = run(sample, {});
  INFO(text);
  CHECK(text.find("Hardly any of the extra 7.50 s was on a processor (80 % is typical here)") !=
        std::string::npos);
  CHECK(text.find("preempted, slept or did I/O") != std::string::npos);
  CHECK(run(solver.sample, {}).find("preempted") == std::string::npos);
  CHECK(text.find("would save") == std::string::npos);
  CHECK(run(sample, {"suspects"}).find("need not be shorter") != std::string::npos);

  sample.build().quality.samples = 1000;
  const nlohmann::json verdict =
      nlohmann::json::parse(run(sample, {"report", "--format", "json"}))["verdict"];
  CHECK(verdict["kind"] == "uneven-lasting");
  CHECK(verdict["confidence"] == "hint");
}

TEST_CASE("Of processes that are no ranks, who sleeps or reads may wait for another process: no saving") {
  SolverSample solver;
  const auto saves = [&](const SuspectFacts& facts, std::uint32_t ranks) {
    solver.sample.build().run.ranks = ranks;
    return may_save(solver.sample.experiment(), facts);
  };
  database::Suspect suspect;
  SuspectFacts works, sleeps, reads;
  for (SuspectFacts* const facts : {&works, &sleeps, &reads}) facts->suspect = &suspect;
  works.excess_cpu_share = works.usual_cpu_share = 0.9;
  CHECK(saves(works, 0));
  sleeps.excess_cpu_share = 0.01;
  sleeps.usual_cpu_share = 0.02;
  reads.excess_io_share = 0.99;
  for (const SuspectFacts& facts : {sleeps, reads}) {
    CHECK(saves(facts, 8));
    CHECK_FALSE(saves(facts, 0));
  }
  suspect.doubt = database::Doubt::pools;
  CHECK_FALSE(saves(works, 8));
}

TEST_CASE("A balanced run is described in one sentence, without blame") {
  const SimpleSample balanced(4, 1000, 1, true);
  const std::string text = run(balanced.sample, {});
  INFO(text);
  CHECK(holds(text, "\nWaiting takes 4 of 4 004 rank-seconds; 100 % of that in MPI_Barrier."));
  CHECK(text.find("nothing to gain") != std::string::npos);
  CHECK(text.find("Blame") == std::string::npos);
  CHECK(text.find("main at a.c:3 (100 %)") != std::string::npos);
}

TEST_CASE("The report says that a program runs without MPI") {
  const SimpleSample alone(1, 7, 0, false);
  const std::string text = run(alone.sample, {});
  INFO(text);
  CHECK(holds(text, "None of the run is waiting (0.00 of 7.00 seconds): it ran without MPI"));
  CHECK(text.find("rank") == std::string::npos);
}

TEST_CASE("A single rank and a run that only waits") {
  const SimpleSample single(1, 5, 0, true);
  CHECK(holds(run(single.sample, {}), "\nNone of the run is waiting (0.00 of 5.00 seconds).\n"));
  const SimpleSample waiting(2, 0, 30, true);
  const std::string text = run(waiting.sample, {});
  INFO(text);
  CHECK(holds(text, "ranks wait 100 % of the time, most of that in MPI_Barrier"));
  CHECK(holds(text, "Waiting takes 60.0 of 60.0 rank-seconds; 100 % of that in MPI_Barrier."));
  CHECK(text.find("inside the whole run: no smaller part") != std::string::npos);
  CHECK(text.find("Most work") == std::string::npos);
}

TEST_CASE("The report distinguishes workers from main threads") {
  const WorkersSample workers;
  const std::string text = run(workers.sample, {});
  INFO(text);
  CHECK(text.starts_with("Idle threads: threads wait for others of their process 25 % of the time.\n"));
  CHECK(holds(text, "\nWaiting takes 20.0 of 80.0 thread-seconds; 100 % of that in pthread_cond_wait."));
  CHECK(text.find("  main threads (4): 0 % waiting\n") != std::string::npos);
  CHECK(text.find("  worker_main threads (4): 50.0 % waiting, 100 % of that in pthread_cond_wait\n") !=
        std::string::npos);
  CHECK(text.find("All of the waiting happens inside worker_main at pool.c:7") != std::string::npos);
}

TEST_CASE(
    "Idle threads are as idle in the verdict as in json, and what no processor was free for is beside it") {
  WorkersSample workers;
  database::Experiment& e = workers.sample.build();
  for (std::uint32_t location = 0; location < e.locations.size(); ++location) {
    if (e.locations[location].thread != 0) continue;
    database::ScheduledThread main{
        .location = location, .online = 8, .sampled_ns = 10 * kSecond, .work_cpu_ns = 7 * kSecond};
    main.processors.add(static_cast<std::uint16_t>(location));
    e.machine.threads.push_back(main);
  }
  CHECK(
      flowing(run(workers.sample, {}))
          .starts_with("Idle threads: threads wait for others of their process 15 % of the time, and another "
                       "10 % while no processor is free for them."));
  const auto json = nlohmann::json::parse(run(workers.sample, {"report", "--format", "json"}));
  CHECK(json["verdict"]["losses"]["threads_idle_s"] == 12);  // of 80
}

TEST_CASE("Where balance is undecided the report says what would decide it") {
  SolverSample solver;
  database::Experiment& experiment = solver.sample.build();
  experiment.blame[0] = {{solver.main, 1710 * kSecond, 0, 0}};
  experiment.balance[0][solver.main] = Balance::balanced;
  experiment.balance[0][solver.loop] = experiment.balance[0][solver.iterate] = Balance::undecided;
  experiment.suspects.clear();
  const std::string text = run(solver.sample, {});
  INFO(text);
  CHECK(text.find("too few samples") != std::string::npos);
  CHECK(holds(flowing(text), "hpcrun-lite --trace does."));
}

TEST_CASE("Why a place has no suspect is said of the first in full, of the others shortly") {
  SolverSample solver;
  database::Experiment& experiment = solver.sample.build();
  experiment.blame[0] = {{solver.main, 1000 * kSecond, 0, 0}, {solver.loop, 710 * kSecond, 0, 0}};
  experiment.balance[0][solver.main] = Balance::balanced;
  experiment.suspects.clear();
  const std::string text = run(solver.sample, {});
  INFO(text);
  const std::size_t reported = text.find("No rank is consistently slower here: ");
  REQUIRE(reported != std::string::npos);
  CHECK(text.find("sums over", reported + 60) == std::string::npos);
  CHECK(text.find("\n  No rank is consistently slower here either.\n", reported) != std::string::npos);
}

TEST_CASE("Where no other rank or thread can have delayed it, nothing is said of delays that move") {
  const SimpleSample one_rank(1, 5, 3, true);
  const SimpleSample one_thread(1, 5, 3, false);
  const SimpleSample threads(3, 5, 3, false);
  for (const SimpleSample* sample : {&one_rank, &one_thread, &threads}) {
    const std::string text = flowing(run(sample->sample, {}));
    INFO(text);
    CHECK(text.find("rank to rank") == std::string::npos);
    CHECK(text.find("--trace") == std::string::npos);
  }
  CHECK(flowing(run(one_rank.sample, {})).find("The run has one rank, so there is nothing to balance") !=
        std::string::npos);
  CHECK(flowing(run(one_thread.sample, {})).find("There is one such thread, so") != std::string::npos);
  CHECK(flowing(run(threads.sample, {})).find("the slow thread may change over time") != std::string::npos);
  CHECK(run(one_rank.sample, {"suspects"}).find("No uneven code: the run has one thread") == 0);
  CHECK_THROWS_WITH(run(threads.sample, {"causes"}),
                    Catch::StartsWith("causes: run1.db: the run has no MPI ranks, which this compares") &&
                        Catch::EndsWith("(see `blame` and `waits`)"));
  CHECK_THROWS_WITH(run(threads.sample, {"communication"}), Catch::Contains("made no MPI calls"));
  CHECK(run(threads.sample, {"waits"}) == "No waits of threads for each other.\n");
}

TEST_CASE("One thread is not called balanced") {
  for (const std::uint32_t ranks : {1U, 2U}) {
    SimpleSample sample(ranks, 5, 3, true);
    sample.sample.build().blame[0] = {{sample.main, ranks * 3 * kSecond, 0, 0}};
    const std::string text = flowing(run(sample.sample, {}));
    INFO(text);
    CHECK(text.find(ranks == 1
                        ? "All of the waiting happens inside main at a.c:3."
                        : "All of the waiting happens inside main at a.c:3, which takes equally long on "
                          "all ranks. No rank is consistently slower") != std::string::npos);
  }
}

TEST_CASE("Where some ranks were not measured, nothing is concluded of them") {
  for (const std::uint32_t ranks : {1U, 2U}) {
    SimpleSample some(ranks, 5, 3, true);
    some.sample.build().run.world_size = 3;
    for (const bool traced : {false, true}) {
      some.sample.build().trace.traced = traced ? ranks : 0;
      const std::string text = flowing(run(some.sample, {}));
      INFO(text);
      const std::string measured =
          ranks == 1 ? "nly 1 of 3 ranks was measured" : "nly 2 of 3 ranks were measured";
      CHECK(text.find(measured) != std::string::npos);
      CHECK(text.find("No rank waited") == std::string::npos);
      CHECK(text.find("rank to rank") == std::string::npos);
      CHECK(text.find("--trace") == std::string::npos);
      CHECK(text.find("critical path spends") == std::string::npos);
      const nlohmann::json quality =
          nlohmann::json::parse(run(some.sample, {"report", "--format", "json"}))["quality"];
      CHECK(quality["ranks"] == ranks);
      CHECK(quality["world_size"] == 3);
      CHECK(flowing(run(some.sample, {"suspects"})).find(measured) != std::string::npos);
      CHECK(flowing(run(some.sample, {"efficiency"})).find(measured) != std::string::npos);
      CHECK(run(some.sample, {"waits"}).find("No rank waited") == std::string::npos);
      if (!traced) continue;
      CHECK(flowing(run(some.sample, {"causes"})).find(measured) != std::string::npos);
      CHECK(flowing(run(some.sample, {"hotspots"})).find(measured) != std::string::npos);
    }
  }
  SimpleSample busy(2, 5, 0, true);
  busy.sample.build().run.world_size = 3;
  CHECK(flowing(run(busy.sample, {})).find("the others may wait") != std::string::npos);
}

TEST_CASE("That no rank waited is said where all were measured, and their time lines are complete") {
  SimpleSample all(2, 5, 0, true);
  all.sample.build().trace.traced = 2;
  CHECK(run(all.sample, {"causes"}) == "No rank waited for another.\n");
  all.sample.build().trace.unmatched.receives = 1;
  CHECK(run(all.sample, {"causes"}).find("The time lines show no wait for another rank") == 0);
  all.sample.build().trace.unmatched.receives = 0;
  all.sample.build().trace.traced = 1;
  CHECK(run(all.sample, {"causes"}).find("The time lines show no wait for another rank") == 0);
  SimpleSample one(1, 5, 0, true);
  one.sample.build().trace.traced = 1;
  CHECK(run(one.sample, {"causes"}) == "The run has one rank, which has no other to wait for.\n");
}

TEST_CASE("Threads that lived briefly are not compared, nor do they shorten the run") {
  const SimpleSample brief(3, 5, 3, false, 100);
  CHECK(holds(flowing(run(brief.sample, {})),
              "Most of these threads lived less than half as long as the longest, and are not compared."));
  const views::Figures figures(brief.sample);
  CHECK(compared_threads(figures, 0) == std::vector<std::uint32_t>{0});
  CHECK(diagnose(figures).elapsed_s == Approx(8));
}

TEST_CASE("A run that was cut short was healthy until then") {
  SimpleSample aborted(2, 5, 0, true);
  aborted.sample.build().quality.cut_short = 1;
  CHECK(run(aborted.sample, {}).starts_with("Healthy up to its last sample: no waiting was seen."));
}

TEST_CASE("What start-up takes is said where it is notable") {
  Verdict verdict;
  verdict.losses.total_s = 10;
  verdict.losses.startup_s = 2.7;
  CHECK(unwrapped(start_up_phrase(verdict, false)) ==
        " MPI_Init and MPI_Finalize take 27 % of the run (--without-startup leaves them out).");
  CHECK(start_up_phrase(verdict, true) == " MPI_Init and MPI_Finalize are left out.");
  verdict.losses.startup_s = 0.9;
  CHECK(start_up_phrase(verdict, false).empty());
  verdict.losses.startup_s = 9;
  verdict.kind = VerdictKind::startup;  // which says it
  CHECK(start_up_phrase(verdict, false).empty());
}

TEST_CASE("Where start-up takes most, the verdict says what the rest loses") {
  for (const std::uint64_t waiting_s : {0, 3}) {
    SampleExperiment sample({"REALTIME", "idleness"});
    const std::uint32_t role = sample.add_role("main");
    const ContextId main = sample.add(0, {ContextKind::procedure, "main", "a.c", 3});
    const ContextId work = sample.add(main, {ContextKind::statement, "", "a.c", 5});
    for (const auto& [name, seconds] :
         {std::pair{"MPI_Init", std::uint64_t{6}}, std::pair{"MPI_Barrier", waiting_s}}) {
      const ContextId call = sample.add(
          main, {ContextKind::procedure, name, "", 0, "libmpi.so", database::kFrontier | database::kInWait});
      const ContextId inside =
          sample.add(call, {ContextKind::statement, "", "", 0, "libmpi.so", database::kInWait});
      for (const std::uint32_t metric : {0U, 1U})
        for (const std::uint32_t rank : {0U, 1U}) sample.set(inside, metric, rank, seconds * kSecond);
    }
    for (const int rank : {0, 1}) {
      sample.add_location(rank, 0, role);
      sample.set(work, 0, static_cast<std::uint32_t>(rank), (4 - waiting_s) * kSecond);
    }
    sample.finish();
    sample.build().quality.samples = 1000;
    sample.build().run.ranks = sample.build().run.world_size = 2;
    const std::string text =
        unwrapped(report_json(views::Figures(sample), {}, false)["verdict"]["text"].get<std::string>());
    CHECK(text ==
          "Starting up: MPI_Init and MPI_Finalize take 60 % of the time. Without them" +
              std::string(
                  waiting_s == 0
                      ? " the run is healthy: no waiting was seen."
                      : ": communication: ranks wait 75 % of the time, most of that in MPI_Barrier, and none "
                        "is consistently slower than the others. What for, only hpcrun-lite --trace shows.") +
              " A longer run shows more of the program itself.");
  }
}

TEST_CASE("Nothing sampled, and time not measured") {
  SampleExperiment empty({"REALTIME", "idleness"});
  empty.add_role("main");
  empty.finish();
  CHECK(run(empty, {}).find("Nothing was sampled") == 0);
  // Waits are stamped whatever is sampled: their time is there.
  for (const std::vector<std::string>& metrics :
       {std::vector<std::string>{"PAPI_TOT_CYC"}, {"REALTIME", "idleness", "PAPI_TOT_CYC"}}) {
    SampleExperiment cycles(metrics);
    cycles.add_role("main");
    cycles.build().run.events = {"PAPI_TOT_CYC@4000000"};
    cycles.finish();
    CHECK(run(cycles, {}).find("Time was not measured") == 0);
    CHECK(report_json(views::Figures(cycles), {}, false)["verdict"]["text"].get<std::string>().starts_with(
        "Time was not measured"));
  }
}

TEST_CASE("Work inside MPI is communication, not what most work is done in") {
  SampleExperiment sample({"REALTIME", "idleness", "communication"});
  sample.add_location(0, 0, sample.add_role("main"));
  const ContextId main = sample.add(0, {ContextKind::procedure, "main", "a.c", 3});
  sample.set(sample.add(main, {ContextKind::statement, "", "a.c", 5}), 0, 0, 4 * kSecond);
  const ContextId init = sample.add(main, {ContextKind::procedure, "MPI_Init", "", 0, "libmpi.so",
                                           database::kFrontier | database::kInWait});
  const ContextId inside =
      sample.add(init, {ContextKind::statement, "", "", 0, "libmpi.so", database::kInWait});
  sample.set(inside, 0, 0, 6 * kSecond);
  sample.set(inside, 2, 0, 6 * kSecond);
  sample.finish();
  const std::string text = run(sample, {});
  INFO(text);
  CHECK(text.find("Most work is done in main at a.c:3 (40 %).") != std::string::npos);
}

}  // namespace culprit::viewer::testing
