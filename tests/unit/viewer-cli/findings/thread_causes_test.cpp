#include "findings/thread_causes.hpp"

#include "findings/phrases.hpp"
#include "text/prose.hpp"
#include "viewer-cli/run.hpp"
#include "views/sample_experiment.hpp"

#include <array>
#include <cstdint>
#include <utility>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace culprit::viewer::testing::thread_causes_test {
namespace {

using database::ContextId;
using database::ContextKind;
using views::testing::SampleExperiment;

enum : std::uint32_t { kTime, kIdleness, kCaused, kLockCaused, kIdle, kUnborne, kLockWaited, kLockUnborne };

/// A main thread that assembles alone, and with three workers runs a loop; of these one works longest.
struct Team {
  SampleExperiment sample{{"REALTIME", "idleness", "idleness-caused", "lock-wait-caused", "idleness-counted",
                           "idleness-unborne", "lock-wait-counted", "lock-wait-unborne"}};
  ContextId assemble, loop, section;

  /// `idle`: what each worker says that it idled.
  explicit Team(std::uint64_t idle = 65 * kSecond) {
    const std::uint32_t mains = sample.add_role("main"), workers = sample.add_role("OpenMP worker");
    const ContextId program = sample.add(0, {ContextKind::root, "<program root>", "", 0, ""});
    const ContextId main = sample.add(program, {ContextKind::procedure, "main", "a.c", 3});
    assemble = sample.add(main, {ContextKind::procedure, "assemble", "a.c", 10});
    const ContextId at_assemble = sample.add(assemble, {ContextKind::statement, "", "a.c", 12});
    const ContextId root = sample.add(0, {ContextKind::thread_root, "<thread root>", "", 0, ""});
    const ContextId region = sample.add(root, {ContextKind::procedure, "sweep [OpenMP region 0]", "a.c", 20});
    loop = sample.add(region, {ContextKind::loop, "", "a.c", 21});
    const ContextId cell = sample.add(loop, {ContextKind::procedure, "cell", "a.c", 30});
    const ContextId at_cell = sample.add(cell, {ContextKind::statement, "", "a.c", 32});
    section = sample.add(loop, {ContextKind::procedure, "section", "a.c", 40});
    const ContextId at_section = sample.add(section, {ContextKind::statement, "", "a.c", 41});
    sample.add_location(-1, 0, mains);
    sample.set(at_assemble, kTime, 0, 50 * kSecond);
    sample.set(at_assemble, kCaused, 0, 148 * kSecond);
    for (std::uint32_t worker = 1; worker <= 3; ++worker) {
      sample.add_location(-1, worker, workers);
      sample.set(at_cell, kTime, worker, 60 * kSecond);
      sample.set(at_cell, kCaused, worker, worker == 1 ? 40 * kSecond : kSecond);
      sample.set(at_section, kTime, worker, 10 * kSecond);
      sample.set(at_section, kLockCaused, worker, 9 * kSecond);
      sample.set(0, kIdle, worker, idle);
      sample.set(0, kLockWaited, worker, 10 * kSecond);
      sample.set(0, kLockUnborne, worker, kSecond);
    }
    sample.set(0, kUnborne, 0, 5 * kSecond);
    sample.finish();
  }
};

}  // namespace

TEST_CASE("Code that makes threads idle is named, and whether it is serial or a loop's iterations") {
  const Team team;
  const views::Figures figures(team.sample);
  const ThreadCauses causes = find_thread_causes(figures);
  CHECK(causes.idle_s == Approx(195));
  CHECK(causes.caused_s == Approx(190));
  CHECK(causes.unborne_s == Approx(5));
  REQUIRE(causes.idleness.size() == 2);
  CHECK(causes.idleness[0].context == team.assemble);
  CHECK(causes.idleness[0].serial);
  CHECK(causes.idleness[0].caused_s == Approx(148));
  CHECK(causes.idleness[1].loop == team.loop);
  CHECK_FALSE(causes.idleness[1].serial);
  REQUIRE(causes.locks.size() == 1);
  CHECK(causes.locks[0].context == team.section);
  const std::vector<std::string> phrases = thread_cause_phrases(figures, 260, 60, false);
  REQUIRE(phrases.size() == 3);
  CHECK(wrap(phrases[0], 1000) ==
        "The OpenMP worker threads idle 93 % of their time, 76 % of that while the main thread is in "
        "assemble at a.c:10 "
        "(serial) and 22 % while OpenMP worker threads are in the loop at a.c:21 in sweep [OpenMP region "
        "0] (uneven "
        "iterations).");
  CHECK(wrap(phrases[1], 1000) ==
        "In that loop all threads work equally long in sum, so which one is late changes: schedule(dynamic) "
        "with "
        "small chunks shares such iterations more evenly, unless a single one takes that long.");
  CHECK(wrap(phrases[2], 1000) ==
        "Threads wait for locks 12 % of the time, 90 % of that because of locks that are held in section at "
        "a.c:40.");
}

TEST_CASE("Critical sections of one procedure are named by their lines") {
  SampleExperiment sample{{"REALTIME", "idleness", "idleness-caused", "lock-wait-caused", "idleness-counted",
                           "idleness-unborne", "lock-wait-counted", "lock-wait-unborne"}};
  const std::uint32_t mains = sample.add_role("main");
  const ContextId program = sample.add(0, {ContextKind::root, "<program root>", "", 0, ""});
  const ContextId main = sample.add(program, {ContextKind::procedure, "main", "a.c", 3});
  const ContextId loop = sample.add(main, {ContextKind::loop, "", "a.c", 4});
  const ContextId first = sample.add(loop, {ContextKind::statement, "", "a.c", 5});
  const ContextId second = sample.add(main, {ContextKind::statement, "", "a.c", 9});
  const ContextId third = sample.add(main, {ContextKind::statement, "", "a.c", 14});
  const ContextId section = sample.add(main, {ContextKind::procedure, "section", "a.c", 20});
  const ContextId at_section = sample.add(section, {ContextKind::statement, "", "a.c", 21});
  sample.add_location(-1, 0, mains);
  for (const auto& [at, seconds] : {std::pair(first, 50), {second, 20}, {third, 3}, {at_section, 27}})
    sample.set(at, kLockCaused, 0, static_cast<std::uint64_t>(seconds) * kSecond);
  sample.set(0, kLockWaited, 0, 100 * kSecond);
  sample.finish();
  const views::Figures figures(sample);
  const ThreadCauses causes = find_thread_causes(figures);
  REQUIRE(causes.locks.size() == 4);
  CHECK((causes.locks[0].context == first && causes.locks[0].caused_s == Approx(50)));
  CHECK(causes.locks[1].context == section);  // of one line, so its name says it
  CHECK((causes.locks[2].context == second && causes.locks[2].caused_s == Approx(20)));
  CHECK((causes.locks[3].context == main && causes.locks[3].caused_s == Approx(3)));
  CHECK(wrap(thread_cause_phrases(figures, 200, 60, false).back(), 1000)
            .starts_with("Threads wait for locks 50 % of the time, 50 % of that because of locks that are "
                         "held in a.c:5 in main"));
}

TEST_CASE("The report tells what nobody causes, and begins with what takes more") {
  SampleExperiment sample{{"REALTIME", "idleness", "idleness-caused", "lock-wait-caused", "idleness-counted",
                           "idleness-unborne", "lock-wait-counted", "lock-wait-unborne"}};
  const ContextId program = sample.add(0, {ContextKind::root, "<program root>", "", 0, ""});
  const ContextId main = sample.add(program, {ContextKind::procedure, "main", "a.c", 3});
  const ContextId section = sample.add(main, {ContextKind::procedure, "section", "a.c", 40});
  const ContextId at = sample.add(section, {ContextKind::statement, "", "a.c", 41});
  sample.add_location(-1, 0, sample.add_role("main"));
  sample.add_location(-1, 1, sample.add_role("worker"));
  sample.set(at, kTime, 0, 100 * kSecond);
  sample.set(at, kCaused, 0, 6 * kSecond);
  sample.set(at, kLockCaused, 0, 30 * kSecond);
  sample.set(at, kTime, 1, 100 * kSecond);
  sample.set(0, kIdle, 1, 20 * kSecond);
  sample.set(0, kUnborne, 0, 14 * kSecond);
  sample.set(0, kLockWaited, 1, 40 * kSecond);
  sample.set(0, kLockUnborne, 0, 10 * kSecond);
  sample.finish();
  const std::vector<std::string> phrases = thread_cause_phrases(views::Figures(sample), 200, 60, false);
  REQUIRE(phrases.size() == 2);
  CHECK(wrap(phrases[0], 1000) ==
        "Threads wait for locks 20 % of the time, 75 % of that because of locks that are held in section at "
        "a.c:40 and 25 % for locks of which it is not known who held them.");
  CHECK(wrap(phrases[1], 1000) ==
        "The worker threads idle 20 % of their time, 30 % of that while the main thread is in section at "
        "a.c:40 and 70 % while no thread of the process worked.");
}

TEST_CASE("Workers idle while the main thread waits for code of the program's, not for a run-time library") {
  SampleExperiment sample{{"REALTIME", "idleness", "idleness-caused", "idleness-counted"}};
  const std::uint32_t mains = sample.add_role("main"), workers = sample.add_role("OpenMP worker");
  const ContextId program = sample.add(0, {ContextKind::root, "<program root>", "", 0, ""});
  const ContextId main = sample.add(program, {ContextKind::procedure, "main", "a.c", 3});
  const ContextId wait = sample.add(main, {ContextKind::procedure, "MPI_Waitall", "", 0, "libmpi.so",
                                           database::kFrontier | database::kInWait});
  const ContextId sweep = sample.add(main, {ContextKind::procedure, "sweep", "a.c", 20});
  const std::uint8_t in_barrier = database::kRunTime | database::kFrontier | database::kInWait;
  const ContextId barrier =
      sample.add(sweep, {ContextKind::procedure, "GOMP_barrier", "", 0, "libgomp.so.1", in_barrier});
  const ContextId root = sample.add(0, {ContextKind::thread_root, "<thread root>", "", 0, ""});
  const ContextId docked = sample.add(
      root, {ContextKind::procedure, "gomp_thread_start", "", 0, "libgomp.so.1", database::kRunTime});
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    const std::uint32_t first = sample.add_location(rank, 0, mains);
    const std::uint32_t worker = sample.add_location(rank, 1, workers);
    sample.set(wait, kTime, first, 40 * kSecond);
    sample.set(wait, 2, first, 40 * kSecond);
    sample.set(docked, kTime, worker, 60 * kSecond);
    sample.set(0, 3, worker, 40 * kSecond);
  }
  sample.finish();
  database::Experiment& e = sample.build();
  e.trace.traced = 2;
  e.trace.run_ns = 60 * kSecond;
  const auto cause = [&](ContextId code, std::uint32_t location, std::uint64_t seconds) {
    return database::Cause{.location = location,
                           .scope = {.context = code},
                           .short_term_ns = seconds * kSecond,
                           .waits_in = wait};
  };
  e.trace.causes = {cause(wait, 2, 30), cause(barrier, 2, 8), cause(docked, 3, 2)};
  const std::vector<std::string> phrases = thread_cause_phrases(views::Figures(sample), 200, 60, false);
  REQUIRE(phrases.size() == 1);
  CHECK(wrap(phrases[0], 1000) ==
        "The OpenMP worker threads idle 67 % of their time, 100 % of that while main threads are in "
        "MPI_Waitall "
        "for sweep at a.c:20 (rank 1).");
}

TEST_CASE("What OpenMP's run-time library takes is told, and then no advice on schedules") {
  SampleExperiment sample{{"REALTIME", "idleness", "idleness-caused", "thread-overhead"}};
  const ContextId root = sample.add(0, {ContextKind::thread_root, "<thread root>", "", 0, ""});
  const ContextId region = sample.add(root, {ContextKind::procedure, "sweep [OpenMP region 0]", "a.c", 20});
  const ContextId loop = sample.add(region, {ContextKind::loop, "", "a.c", 21});
  const ContextId next = sample.add(loop, {ContextKind::procedure, "GOMP_loop_next", "", 0, "libgomp.so.1"});
  const std::uint32_t workers = sample.add_role("OpenMP worker");
  for (std::uint32_t worker = 0; worker < 2; ++worker) {
    sample.add_location(-1, worker + 1, workers);
    sample.set(next, kTime, worker, 60 * kSecond);
    sample.set(next, 3, worker, 55 * kSecond);
    sample.set(loop, kCaused, worker, 5 * kSecond);
  }
  sample.finish();
  const std::vector<std::string> phrases = thread_cause_phrases(views::Figures(sample), 120, 60, false);
  REQUIRE_FALSE(phrases.empty());
  CHECK(wrap(phrases[0], 1000) ==
        "OpenMP's run-time library takes 92 % of the time, 100 % of that in sweep [OpenMP region 0] at "
        "a.c:20: larger chunks of loops, and fewer and larger regions and tasks, take less.");
  for (const std::string& phrase : phrases) CHECK(phrase.find("schedule(dynamic)") == std::string::npos);
}

TEST_CASE("With time lines, a main thread's call of MPI waits for what cost its waits") {
  SampleExperiment sample{{"REALTIME", "idleness", "idleness-caused", "idleness-counted"}};
  const ContextId program = sample.add(0, {ContextKind::root, "<program root>", "", 0, ""});
  const ContextId main = sample.add(program, {ContextKind::procedure, "main", "a.c", 3});
  const ContextId receive = sample.add(main, {ContextKind::procedure, "MPI_Recv", "", 0, "libmpi.so",
                                              database::kFrontier | database::kInWait});
  const ContextId root = sample.add(0, {ContextKind::thread_root, "<thread root>", "", 0, ""});
  const ContextId iteration = sample.add(root, {ContextKind::procedure, "iterate", "b.c", 7});
  const std::uint32_t mains = sample.add_role("main"), workers = sample.add_role("OpenMP worker");
  sample.add_location(0, 0, mains);
  sample.add_location(0, 1, workers);
  sample.add_location(1, 1, workers);
  sample.set(receive, kTime, 0, 50 * kSecond);
  sample.set(receive, kIdleness, 0, 50 * kSecond);
  sample.set(receive, kCaused, 0, 50 * kSecond);
  sample.set(root, kTime, 1, 60 * kSecond);
  sample.set(0, 3, 1, 50 * kSecond);
  sample.set(iteration, kTime, 2, 60 * kSecond);
  sample.build().trace.traced = 2;
  sample.build().trace.causes = {
      {.location = 2, .scope = {.context = iteration}, .short_term_ns = 40 * kSecond, .waits_in = receive},
      {.location = 0, .scope = {.context = main}, .short_term_ns = 90 * kSecond, .waits_in = iteration}};
  sample.finish();
  const std::vector<std::string> phrases = thread_cause_phrases(views::Figures(sample), 170, 60, false);
  REQUIRE(phrases.size() == 1);
  CHECK(wrap(phrases[0], 1000)
            .find("while the main thread is in MPI_Recv for iterate at b.c:7 (rank 1 thread 1)") !=
        std::string::npos);
}

TEST_CASE("What one thread alone does in a loop of a team is not serial") {
  SampleExperiment sample{{"REALTIME", "idleness", "idleness-caused"}};
  const std::uint32_t mains = sample.add_role("main"), workers = sample.add_role("OpenMP worker");
  const ContextId root = sample.add(0, {ContextKind::thread_root, "<thread root>", "", 0, ""});
  const ContextId region = sample.add(root, {ContextKind::procedure, "sweep [OpenMP region 0]", "a.c", 20});
  const ContextId loop = sample.add(region, {ContextKind::loop, "", "a.c", 21});
  const ContextId cell = sample.add(loop, {ContextKind::procedure, "cell", "a.c", 30});
  const ContextId at_cell = sample.add(cell, {ContextKind::statement, "", "a.c", 32});
  sample.add_location(-1, 0, mains);
  for (std::uint32_t worker = 1; worker <= 3; ++worker) sample.add_location(-1, worker, workers);
  sample.set(at_cell, kTime, 1, 50 * kSecond);
  sample.set(at_cell, kCaused, 1, 149 * kSecond);
  sample.finish();
  const views::Figures figures(sample);
  const ThreadCauses causes = find_thread_causes(figures);
  REQUIRE(causes.idleness.size() == 1);
  CHECK_FALSE(causes.idleness[0].serial);
}

TEST_CASE("A procedure that calls itself is no tool of others, and named once") {
  SampleExperiment sample{{"REALTIME", "idleness", "idleness-caused"}};
  const std::uint32_t mains = sample.add_role("main"), workers = sample.add_role("OpenMP worker");
  const ContextId program = sample.add(0, {ContextKind::root, "<program root>", "", 0, ""});
  const ContextId main = sample.add(program, {ContextKind::procedure, "main", "a.c", 3});
  const ContextId outer = sample.add(main, {ContextKind::procedure, "divide", "a.c", 10});
  const ContextId inner = sample.add(outer, {ContextKind::procedure, "divide", "a.c", 10});
  const ContextId at_inner = sample.add(inner, {ContextKind::statement, "", "a.c", 12});
  sample.add_location(-1, 0, mains);
  sample.add_location(-1, 1, workers);
  sample.set(at_inner, kTime, 0, 50 * kSecond);
  sample.set(at_inner, kCaused, 0, 50 * kSecond);
  sample.finish();
  const views::Figures figures(sample);
  const ThreadCauses causes = find_thread_causes(figures);
  REQUIRE(causes.idleness.size() == 1);
  CHECK(causes.idleness[0].context == outer);
}

TEST_CASE("The body of a region is named in each role if all its threads together cause a good part") {
  SampleExperiment sample{{"REALTIME", "idleness", "idleness-caused"}};
  const std::uint32_t mains = sample.add_role("main"), workers = sample.add_role("OpenMP worker");
  const ContextId program = sample.add(0, {ContextKind::root, "<program root>", "", 0, ""});
  const ContextId main = sample.add(program, {ContextKind::procedure, "main", "a.c", 3});
  const ContextId sweep = sample.add(main, {ContextKind::procedure, "sweep", "a.c", 20});
  const ContextId share = sample.add(sweep, {ContextKind::procedure, "sweep [OpenMP region 0]", "a.c", 20});
  const ContextId small = sample.add(sweep, {ContextKind::procedure, "trim [OpenMP region 1]", "a.c", 30});
  const ContextId assemble = sample.add(main, {ContextKind::procedure, "assemble", "a.c", 10});
  const ContextId root = sample.add(0, {ContextKind::thread_root, "<thread root>", "", 0, ""});
  const ContextId body = sample.add(root, {ContextKind::procedure, "sweep [OpenMP region 0]", "a.c", 20});
  sample.add_location(-1, 0, mains);
  sample.add_location(-1, 1, workers);
  for (const ContextId each : {share, small, assemble}) sample.set(each, kTime, 0, 10 * kSecond);
  sample.set(body, kTime, 1, 10 * kSecond);
  sample.set(assemble, kCaused, 0, 60 * kSecond);
  sample.set(body, kCaused, 1, 30 * kSecond);
  sample.set(share, kCaused, 0, 6 * kSecond);
  sample.set(small, kCaused, 0, kSecond);
  sample.finish();
  const views::Figures figures(sample);
  const ThreadCauses causes = find_thread_causes(figures);
  REQUIRE(causes.idleness.size() == 3);
  CHECK(causes.idleness[0].context == assemble);
  CHECK(causes.idleness[1].context == body);
  CHECK(causes.idleness[2].context == share);
}

TEST_CASE("Threads of the only process are named by their numbers") {
  const Team team;
  CHECK(thread_phrase(team.sample.experiment(), 0) == "thread 0");
  CHECK(threads_phrase(team.sample.experiment(), std::array<std::uint32_t, 1>{1}) == "thread 1");
}

TEST_CASE("What no code has a good part of is listed as other code") {
  SampleExperiment sample{{"REALTIME", "idleness", "idleness-caused"}};
  const std::uint32_t mains = sample.add_role("main"), workers = sample.add_role("OpenMP worker");
  const ContextId program = sample.add(0, {ContextKind::root, "<program root>", "", 0, ""});
  const ContextId main = sample.add(program, {ContextKind::procedure, "main", "a.c", 3});
  const ContextId assemble = sample.add(main, {ContextKind::procedure, "assemble", "a.c", 10});
  const ContextId root = sample.add(0, {ContextKind::thread_root, "<thread root>", "", 0, ""});
  sample.add_location(-1, 0, mains);
  sample.add_location(-1, 1, workers);
  sample.set(assemble, kTime, 0, 60 * kSecond);
  sample.set(assemble, kCaused, 0, 60 * kSecond);
  for (int i = 0; i < 20; ++i) {
    const ContextId body = sample.add(root, {ContextKind::procedure, "body" + std::to_string(i), "a.c", 20});
    sample.set(body, kTime, 1, 10 * kSecond);
    sample.set(body, kCaused, 1, kSecond);
  }
  sample.finish();
  for (const char* command : {"blame", "suspects"}) {
    const std::string text = run(sample, {command});
    INFO(text);
    CHECK(text.find("20.00 s  25.0 %  other code (OpenMP worker threads)  [c0]") != std::string::npos);
  }
}

TEST_CASE("Of a killed process, whose threads did not say how long they idled, parts are of what is known") {
  const Team team(kSecond);
  const views::Figures figures(team.sample);
  CHECK(find_thread_causes(figures).idle_s == Approx(195));
  CHECK(thread_cause_phrases(figures, 260, 60, false).front().find(keep("76 %")) != std::string::npos);
}

TEST_CASE("Nothing is said of threads where there were none") {
  SampleExperiment sample{{"REALTIME", "idleness"}};
  sample.add_role("main");
  sample.add(0, {ContextKind::root, "<program root>", "", 0, ""});
  sample.add_location(-1, 0, 0);
  sample.finish();
  const views::Figures figures(sample);
  CHECK(thread_cause_phrases(figures, 10, 60, false).empty());
  CHECK(find_thread_causes(figures).idleness.empty());
}

TEST_CASE("What makes threads idle is in blame, suspects and json, too") {
  const Team team;
  for (const char* command : {"blame", "suspects"}) {
    const std::string text = run(team.sample, {command});
    CHECK(text.find("(idleness-caused)") != std::string::npos);
    CHECK(text.find("assemble") != std::string::npos);
    CHECK(text.find("(lock-wait-caused)") != std::string::npos);
  }
  const auto report = nlohmann::json::parse(run(team.sample, {"report", "--format", "json"}));
  const auto& causes = report["thread_causes"];
  CHECK(causes["idleness"][0]["serial"] == true);
  CHECK(causes["idleness"][0]["path"].back()["name"] == "assemble");
  CHECK(causes["idleness"][1]["loop"].back()["line"] == 21);
  CHECK(causes["locks"][0]["caused_s"] == Approx(27));
}

}  // namespace culprit::viewer::testing::thread_causes_test
