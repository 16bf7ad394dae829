#include "findings/diagnosis.hpp"

#include "findings/phrases.hpp"
#include "findings/segment_picture.hpp"
#include "findings/suspect_names.hpp"
#include "text/prose.hpp"
#include "viewer-cli/run.hpp"
#include "views/solver_sample.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

namespace culprit::viewer::testing::diagnosis_test {
namespace {

/// Where is waited most, if the wait is in a function of this name in a library, and the function around it,
/// GOMP_parallel, is in the library, too, or not.
std::string waits_in(const char* name, bool around_too) {
  views::testing::SolverSample solver;
  database::Experiment& e = solver.sample.build();
  const auto text = [&](const char* string) {
    e.strings.emplace_back(string);
    return static_cast<database::StringId>(e.strings.size() - 1);
  };
  const database::StringId library = text("/usr/lib/libgomp.so.1");
  database::Context& waiting = e.contexts[solver.allreduce];
  waiting.name = text(name);
  waiting.module = library;
  database::Context& around = e.contexts[solver.iterate];
  around.name = text("GOMP_parallel");
  for (database::ContextId at = waiting.parent; around_too && at != around.parent; at = e.contexts[at].parent)
    e.contexts[at].module = library;
  return diagnose(views::Figures(solver.sample)).where.front().name;
}

}  // namespace

TEST_CASE("code without a name waits in the function of its library that has one") {
  CHECK(waits_in("libgomp.so.1@0x1f5e0", false) == "libgomp.so.1");
  CHECK(waits_in("libgomp.so.1@0x1f5e0", true) == "GOMP_parallel");
  CHECK(waits_in("gomp_team_barrier_wait_end", true) == "gomp_team_barrier_wait_end");
}

TEST_CASE("library code that a Python function has at work is that function's doing") {
  views::testing::SolverSample solver;
  database::Experiment& e = solver.sample.build();
  const auto text = [&](std::string_view string) {
    e.strings.emplace_back(string);
    return static_cast<database::StringId>(e.strings.size() - 1);
  };
  e.run.program = "/usr/bin/python3";
  e.contexts[solver.iterate].module = text(database::kPythonModule);
  e.contexts[solver.spmv].module = text("/usr/lib/_multiarray_umath.so");
  CHECK(suspect_phrase(solver.sample.experiment(), solver.spmv, solver.spmv, 60, false) ==
        "cg_iterate (in spmv)");
}

TEST_CASE("the same threads of several ranks are named together") {
  const views::testing::WorkersSample workers;  // locations 2 r and 2 r + 1 are of rank r
  const auto phrase = [&](const std::vector<std::uint32_t>& locations) {
    return threads_phrase(workers.sample.experiment(), locations);
  };
  CHECK(phrase({0, 1, 2, 3}) == "threads 0, 1 of ranks 0, 1");
  CHECK(phrase({0, 1, 2}) == "rank 0, rank 0 thread 1, rank 1");
  CHECK(phrase({1, 3}) == "rank 0 thread 1, rank 1 thread 1");
  CHECK(phrase({0, 1, 2, 3, 4, 5}) == "6 threads of ranks 0-2");
}

TEST_CASE("a suspect without a name is named by the procedure in which it works") {
  using database::ContextKind;
  views::testing::SampleExperiment sample({"REALTIME"});
  sample.add_location(0, 0, sample.add_role("main"));
  const auto add = [&](database::ContextId parent, const char* name) {
    return sample.add(parent, {ContextKind::procedure, name, "", 0, "/lib/libmd.so.7"});
  };
  const database::ContextId forces = add(0, "libmd.so.7@0xb16ae0"), kernel = add(forces, "kernel"),
                            part = add(forces, "libmd.so.7@0x463d30"),
                            lost = add(kernel, "libmd.so.7@0x39b960");
  sample.finish();
  const auto phrase = [&](database::ContextId named, database::ContextId inside) {
    return suspect_phrase(sample.experiment(), named, inside, 60, false);
  };
  CHECK(phrase(forces, kernel) == "kernel");
  CHECK(phrase(forces, part) == "libmd.so.7@0xb16ae0 (in libmd.so.7@0x463d30)");
  CHECK(phrase(kernel, lost) == "kernel (in libmd.so.7@0x39b960)");
  CHECK(procedure_on_map(sample.experiment(), lost) == kernel);
  CHECK(procedure_on_map(sample.experiment(), part) == part);  // nothing around it has a name either
}

TEST_CASE("what the interpreter does for a Python function is that function's work") {
  using database::ContextId;
  using database::ContextKind;
  views::testing::SampleExperiment sample({"REALTIME"});
  sample.add_location(0, 0, sample.add_role("main"));
  const auto add = [&](ContextId parent, const char* name, const char* file, const char* module,
                       std::uint64_t seconds) {
    const ContextId own = sample.add(parent, {ContextKind::procedure, name, file, 2, module});
    sample.set(sample.add(own, {ContextKind::statement, "", file, 4, module}), 0, 0, seconds * kSecond);
    return own;
  };
  const ContextId burn = add(0, "burn", "a.py", "<python>", 1);
  add(burn, "PyNumber_Add", "", "/usr/bin/python3.11", 4);
  const ContextId glue = add(burn, "MPI.so@0x1", "", "/lib/MPI.cpython-311.so", 2);
  add(glue, "PyNumber_Add", "", "/usr/bin/python3.11", 2);
  add(0, "Py_FinalizeEx", "", "/usr/bin/python3.11", 1);
  sample.finish();
  const std::string text = flowing(run(sample, {"report"}));
  INFO(text);
  CHECK(text.find("Most work is done in burn at a.py:2 (70 %)") != std::string::npos);
  CHECK(text.find("PyNumber_Add") == std::string::npos);
  CHECK(procedure_on_map(sample.experiment(), glue) == burn);
}

TEST_CASE("what recurs in a Python function are iterations, since its loops are not known") {
  views::testing::SolverSample solver;
  database::Experiment& e = solver.sample.build();
  database::Variation variation;
  variation.context = solver.spmv;
  e.strings.emplace_back(database::kPythonModule);
  e.contexts[solver.spmv].module = static_cast<database::StringId>(e.strings.size() - 1);
  CHECK(segment_name(solver.sample.experiment(), variation) == std::string_view("iteration"));
  CHECK(segment_preposition(solver.sample.experiment(), variation) == std::string_view("in"));
  variation.chosen = true;  // the user asked for the function's own calls
  CHECK(segment_name(solver.sample.experiment(), variation) == std::string_view("invocation"));
  CHECK(segment_preposition(solver.sample.experiment(), variation) == std::string_view("of"));
  variation = {};
  variation.context = solver.dot;
  CHECK(segment_name(solver.sample.experiment(), variation) == std::string_view("invocation"));
}

TEST_CASE("rows on code that phases share say which phase they are of") {
  using database::ContextId;
  using database::ContextKind;
  views::testing::SampleExperiment sample({"REALTIME", "idleness"});
  sample.add_location(0, 0, sample.add_role("main"));
  const ContextId main = sample.add(0, {ContextKind::procedure, "main", "app.c", 1});
  sample.set(sample.add(main, {ContextKind::statement, "", "app.c", 2}), 1, 0, 20 * kSecond);
  std::vector<ContextId> loops;
  for (const char* const phase : {"assemble", "solve", "output"}) {
    const ContextId burn = sample.add(sample.add(main, {ContextKind::procedure, phase, "app.c", 20}),
                                      {ContextKind::procedure, "burn", "app.c", 5});
    loops.push_back(sample.add(burn, {ContextKind::loop, "", "app.c", 6}));
    sample.set(sample.add(loops.back(), {ContextKind::statement, "", "app.c", 6}), 0, 0, 10 * kSecond);
  }
  sample.finish();
  const views::Figures figures(sample);
  CodeNames names = code_names(sample.experiment(), {loops[0], loops[1], loops[0]}, 60, false);
  CHECK(names.at(loops[0]) == "assemble (in burn at app.c:6)");
  CHECK(names.at(loops[1]) == "solve (in burn at app.c:6)");
  names = code_names(sample.experiment(), {loops[2], main}, 60, false);
  CHECK(names.at(loops[2]) == "loop at app.c:6 in burn");
  CHECK(code_names(sample.experiment(), {}, 60, false).empty());
}

TEST_CASE("a suspect whose callees are uneven alike is listed with them") {
  using database::ContextId;
  using database::ContextKind;
  views::testing::SampleExperiment sample({"REALTIME", "idleness"});
  const std::uint32_t role = sample.add_role("main");
  for (std::int32_t rank = 0; rank < 4; ++rank) sample.add_location(rank, 0, role);
  const ContextId main = sample.add(0, {ContextKind::procedure, "main", "app.c", 1});
  const ContextId step = sample.add(main, {ContextKind::procedure, "step", "app.c", 20});
  const ContextId site = sample.add(step, {ContextKind::call, "", "app.c", 21});
  const auto work = [&](const char* name, const std::vector<std::uint64_t>& seconds) {
    const ContextId line = sample.add(sample.add(site, {ContextKind::procedure, name, "app.c", 5}),
                                      {ContextKind::statement, "", "app.c", 6});
    for (std::uint32_t rank = 0; rank < 4; ++rank) sample.set(line, 0, rank, seconds[rank] * kSecond);
  };
  work("alpha", {20, 32, 20, 20});
  work("beta", {20, 28, 20, 20});
  work("gamma", {5, 5, 5, 5});
  sample.finish();
  const database::Suspect suspect{.suspect = step,
                                  .locations = {1},
                                  .excess_ns = 15 * kSecond,
                                  .named = step,
                                  .scopes = {step},
                                  .explained = {}};
  const SuspectFacts facts = examine(views::Figures(sample), suspect);
  REQUIRE(facts.parts.size() == 2);
  CHECK(facts.parts[0].excess_s == Approx(9));
  CHECK(facts.parts[1].excess_s == Approx(6));
  CHECK(unwrapped(parts_phrase(sample.experiment(), facts.parts, 60, false)) ==
        "alpha takes 9.00 s and beta 6.00 s");
  CHECK(scope_phrase(sample.experiment(), site, true, 60, false) == "step (app.c:21)");
}

TEST_CASE(
    "who takes longer for all code alike may have a slow processor, which counts of instructions tell") {
  using database::ContextId;
  using database::ContextKind;
  const auto judge = [](const char* event, const std::vector<std::uint64_t>& elsewhere) {
    views::testing::SampleExperiment sample({"REALTIME", "idleness", "CPU", event});
    const std::uint32_t role = sample.add_role("main");
    const ContextId main = sample.add(0, {ContextKind::procedure, "main", "app.c", 1});
    const ContextId step = sample.add(main, {ContextKind::procedure, "step", "app.c", 20});
    const auto work = [&](ContextId above, const char* name, const std::vector<std::uint64_t>& seconds) {
      const ContextId line = sample.add(sample.add(above, {ContextKind::procedure, name, "app.c", 5}),
                                        {ContextKind::statement, "", "app.c", 6});
      for (std::uint32_t rank = 0; rank < 4; ++rank) {
        sample.set(line, 0, rank, seconds[rank] * kSecond);
        sample.set(line, 2, rank, seconds[rank] * kSecond);
      }
    };
    for (std::int32_t rank = 0; rank < 4; ++rank) sample.add_location(rank, 0, role);
    work(step, "alpha", {20, 30, 20, 20});
    work(step, "beta", {20, 30, 20, 20});
    work(main, "other", elsewhere);
    sample.finish();
    const database::Suspect suspect{.suspect = step,
                                    .locations = {1},
                                    .excess_ns = 20 * kSecond,
                                    .named = step,
                                    .confidence = database::Confidence::sure,
                                    .scopes = {step},
                                    .explained = {}};
    const SuspectFacts facts = examine(views::Figures(sample), suspect);
    return confidence_name(confidence_of(facts)) + ' ' + surer_with(sample.experiment(), facts);
  };
  CHECK(judge("perf::PAGE-FAULTS", {5, 7, 5, 5}) == "sure ");      // too little to tell by
  CHECK(judge("perf::PAGE-FAULTS", {30, 60, 30, 30}) == "sure ");  // more than a slow processor does
  CHECK(judge("perf::PAGE-FAULTS", {30, 39, 30, 30}) == "likely -e PAPI_TOT_INS");
  CHECK(judge("PAPI_TOT_INS", {30, 39, 30, 30}) == "sure ");       // what is known is told elsewhere
  CHECK(judge("perf::PAGE-FAULTS", {60, 60, 60, 60}) == "sure ");  // other code takes no longer there
}

TEST_CASE("gaps between calls of one place are called so") {
  views::testing::SolverSample solver;
  database::VaryingGap gap{};
  gap.context = gap.after = solver.allreduce;
  gap.idle_ns = 4'000'000'000;
  gap.unexplained_ns = 6'000'000'000;
  solver.sample.build().varying_gaps = {gap, gap};
  const auto phrases = varying_gap_phrases(solver.sample.experiment(), 8, 60, false);
  REQUIRE(phrases.size() == 2);
  CHECK(phrases[0].starts_with("The time between calls of MPI_Allreduce in cg_iterate"));
  CHECK(wrap(phrases[0], 1000).find("That explains up to 6.00 s of waiting, in that call and in others") !=
        std::string::npos);
  // No more than what nothing else explains.
  CHECK(wrap(phrases[1], 1000).find("That explains up to 2.00 s of the 4.00 s of waiting in that call") !=
        std::string::npos);
  CHECK(varying_gap_phrases(solver.sample.experiment(), 0, 60, false).empty());
}

TEST_CASE("gaps between two calls of a function are named by it once") {
  using database::ContextId;
  using database::ContextKind;
  views::testing::SampleExperiment sample({"REALTIME", "idleness"});
  sample.add_location(0, 0, sample.add_role("main"));
  const ContextId solve = sample.add(0, {ContextKind::procedure, "solve", "app.c", 1});
  const auto call = [&](ContextId around, std::uint32_t line) {
    const ContextId site = sample.add(around, {ContextKind::call, "", line > 0 ? "app.c" : "", line});
    return sample.add(site, {ContextKind::procedure, "MPI_Allreduce", "", 0, "libmpi.so"});
  };
  const ContextId first = call(solve, 12), second = call(solve, 15);
  // Without lines, as of a program without debugging information.
  const ContextId unplaced = call(solve, 0), loop = sample.add(solve, {ContextKind::loop, "", "", 0});
  const ContextId again = call(loop, 0);
  const ContextId elsewhere = call(sample.add(0, {ContextKind::procedure, "main", "app.c", 30}), 31);
  sample.finish();
  const auto text = [&](ContextId after, ContextId context) {
    database::VaryingGap gap{};
    gap.after = after;
    gap.context = context;
    gap.idle_ns = gap.unexplained_ns = kSecond;
    sample.build().varying_gaps = {gap};
    return unwrapped(varying_gap_phrases(sample.experiment(), 8, 60, false).at(0));
  };
  CHECK(text(first, second)
            .starts_with(
                "The time between calls of MPI_Allreduce in solve, from app.c:12 to app.c:15, varies "));
  CHECK(text(unplaced, again).starts_with("The time between calls of MPI_Allreduce in solve varies "));
  CHECK(text(elsewhere, first)
            .starts_with(
                "The time from MPI_Allreduce in main (app.c:31) to MPI_Allreduce in solve (app.c:12) "));
  CHECK(text(database::kNone, first)
            .starts_with("The time from the start to MPI_Allreduce in solve (app.c:12) varies "));
}

TEST_CASE("where processors lack, work is compared by CPU time") {
  views::testing::SampleExperiment sample({"REALTIME", "idleness", "CPU"});
  const std::uint32_t role = sample.add_role("main");
  const database::ContextId program =
      sample.add(0, {database::ContextKind::root, "<program root>", "", 0, ""});
  const database::ContextId line = sample.add(program, {database::ContextKind::statement, "", "a.c", 5});
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    sample.add_location(static_cast<std::int32_t>(rank), 0, role);
    sample.set(line, 0, rank, rank == 0 ? 6'000'000'000 : 4'000'000'000);
    sample.set(line, 2, rank, rank == 0 ? 1'500'000'000 : 500'000'000);
  }
  sample.finish();
  database::Suspect suspect{};
  suspect.balanced = program;
  suspect.suspect = line;
  suspect.locations = {0};
  suspect.scopes = {line};
  CHECK(examine(views::Figures(sample), suspect).more_work.value() == Approx(0.5));
  sample.build().machine.suspects.push_back(
      {.kind = database::MachineKind::oversubscribed, .locations = {0}});
  CHECK(examine(views::Figures(sample), suspect).more_work.value() == Approx(2));
}

TEST_CASE("where processors lack, suspects explain no more than time lines show for late ranks") {
  views::testing::SolverSample solver;
  const Blamed loop{.context = solver.loop, .role = 0};
  const auto explained_s = [&] {
    return suspects_below(solver.sample.experiment(), loop).front().explains_s;
  };
  const double all_s = explained_s();
  database::Experiment& e = solver.sample.build();
  e.trace.traced = 8;
  e.waits = {{.pattern = database::WaitPattern::wait_at_nxn,
              .location = 0,
              .context = solver.allreduce,
              .exact = true,
              .ns = 1'000'000'000}};
  CHECK(explained_s() == Approx(all_s));
  solver.sample.build().machine.suspects.push_back(
      {.kind = database::MachineKind::oversubscribed, .locations = {0}});
  CHECK(explained_s() == Approx(1));
}

TEST_CASE("code with little CPU time sleeps, unless threads were ready to run meanwhile") {
  using database::ContextKind;
  views::testing::SampleExperiment sample({"REALTIME", "idleness", "CPU"});
  sample.add_location(0, 0, sample.add_role("main"));
  const database::ContextId own = sample.add(0, {ContextKind::procedure, "poll", "a.c", 3});
  const database::ContextId at = sample.add(own, {ContextKind::statement, "", "a.c", 4});
  sample.set(at, 0, 0, 10 * kSecond);
  sample.set(at, 2, 0, kSecond);
  sample.finish();
  const auto sleeps = [&](std::uint64_t runnable_s) {
    sample.build().machine.threads = {{.location = 0,
                                       .runnable_ns = runnable_s * kSecond,
                                       .work_ns = 10 * kSecond,
                                       .work_cpu_ns = kSecond}};
    return diagnose(views::Figures(sample)).work.front().asleep;
  };
  CHECK(sleeps(1));
  CHECK_FALSE(sleeps(8));
}

TEST_CASE("without ranks, one that sleeps beside other processes is a hint: it may wait for them") {
  using database::ContextKind;
  views::testing::SampleExperiment sample({"REALTIME", "idleness", "CPU"});
  const std::uint32_t role = sample.add_role("main");
  const database::ContextId shell = sample.add(0, {ContextKind::procedure, "wait_for", "sh.c", 4});
  const database::ContextId line = sample.add(shell, {ContextKind::statement, "", "sh.c", 5});
  const database::ContextId work = sample.add(0, {ContextKind::procedure, "work", "a.c", 5});
  const database::ContextId other = sample.add(work, {ContextKind::statement, "", "a.c", 6});
  for (std::uint32_t process = 0; process < 2; ++process) {
    sample.add_location(-1, 0, role);
    sample.set(process == 0 ? line : other, 0, process, 10 * kSecond);
    sample.set(process == 0 ? line : other, 2, process, process == 0 ? 0 : kSecond / 10);
  }
  sample.finish();
  sample.build().run.ranks = 0;
  sample.build().locations.back().pid = 7;
  database::Suspect suspect{};
  suspect.suspect = line;
  suspect.locations = {0};
  suspect.scopes = {line};
  suspect.confidence = database::Confidence::sure;
  CHECK(confidence_of(examine(views::Figures(sample), suspect)) == database::Confidence::hint);
  sample.build().locations.back().pid = sample.build().locations.front().pid;  // a thread of the same process
  CHECK(confidence_of(examine(views::Figures(sample), suspect)) == database::Confidence::sure);
}

TEST_CASE("where processors lack, work is a share of the time on a processor") {
  using database::ContextId;
  using database::ContextKind;
  views::testing::SampleExperiment sample({"REALTIME", "idleness", "CPU"});
  sample.add_location(0, 0, sample.add_role("main"));
  const auto work_in = [&](const char* name, std::uint64_t cpu) {
    const ContextId own = sample.add(0, {ContextKind::procedure, name, "a.c", 3});
    const ContextId at = sample.add(own, {ContextKind::statement, "", "a.c", 4});
    sample.set(at, 0, 0, 10 * kSecond);
    sample.set(at, 2, 0, cpu * kSecond);
  };
  work_in("heavy", 3);
  work_in("light", 1);
  sample.finish();
  CHECK(diagnose(views::Figures(sample)).work_of_s == Approx(20));
  sample.build().quality.samples = 1000;
  sample.build().machine.suspects.push_back(
      {.kind = database::MachineKind::oversubscribed, .locations = {0}});
  const Diagnosis diagnosis = diagnose(views::Figures(sample));
  CHECK(diagnosis.work_of_s == Approx(4));
  CHECK(diagnosis.work_share(diagnosis.work.front()) == Approx(0.75));
  const std::string text = flowing(run(sample, {"report"}));
  INFO(text);
  CHECK(text.find("heavy at a.c:3 (75 %) and light at a.c:3 (25 %), as shares of the time on a processor.") !=
        std::string::npos);
}

}  // namespace culprit::viewer::testing::diagnosis_test
