// What causes are called, and how sure they are, where code shares helpers, calls itself, holds locks or
// forms a pipeline.
#include "findings/causes.hpp"

#include "findings/coverage.hpp"
#include "findings/suspect_names.hpp"
#include "text/prose.hpp"
#include "viewer-cli/commands/simple_sample.hpp"
#include "viewer-cli/run.hpp"
#include "views/sample_experiment.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace culprit::viewer::testing::causes_test {
namespace {

using database::ContextId;
using database::ContextKind;
using database::WaitPattern;
using views::testing::SampleExperiment;

/// Four ranks that call some functions, all of which work in a helper, and then wait.
struct HelperSample {
  HelperSample() : sample({"REALTIME", "idleness", "CPU"}) {
    const std::uint32_t mains = sample.add_role("main");
    for (std::int32_t rank = 0; rank < 4; ++rank) sample.add_location(rank, 0, mains);
    const ContextId program = sample.add(0, {ContextKind::root, "<program root>", "", 0, ""});
    main = sample.add(program, {ContextKind::procedure, "main", "a.c", 3});
    loop = sample.add(main, {ContextKind::loop, "", "a.c", 5});
  }

  /// Below `function`; returns the helper's loop, in which each rank works for `seconds`.
  ContextId helper(ContextId function, const std::vector<std::uint64_t>& seconds) {
    const ContextId pause = sample.add(function, {ContextKind::procedure, "pause_for", "t.h", 10});
    const ContextId inside = sample.add(pause, {ContextKind::loop, "", "t.h", 11});
    const ContextId line = sample.add(inside, {ContextKind::statement, "", "t.h", 12});
    for (std::uint32_t rank = 0; rank < seconds.size(); ++rank) {
      sample.set(line, 0, rank, seconds[rank] * kSecond);
      sample.set(line, 2, rank, seconds[rank] * kSecond);
    }
    return inside;
  }

  ContextId function(ContextId above, const char* name, std::uint32_t line) {
    return sample.add(above, {ContextKind::procedure, name, "a.c", line});
  }

  /// Each rank waits in `call` for `seconds`.
  void wait_in(const char* call, std::uint64_t seconds) {
    const std::uint8_t flags = database::kFrontier | database::kInWait;
    waiting = sample.add(loop, {ContextKind::procedure, call, "", 0, "libmpi.so", flags});
    const ContextId inside =
        sample.add(waiting, {ContextKind::statement, "", "", 0, "libmpi.so", database::kInWait});
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      sample.set(inside, 0, rank, seconds * kSecond);
      sample.set(inside, 1, rank, seconds * kSecond);
    }
    sample.finish();
    database::Experiment& e = sample.build();
    e.quality.samples = 10'000;
    e.run.world_size = e.run.ranks;
    e.trace.traced = 4;
    e.trace.run_ns = 30 * kSecond;
    e.blame[0] = {{loop, 4 * seconds * kSecond, 0, 0}};
    e.balance[0][loop] = database::Balance::balanced;
  }

  /// One rank waits for another.
  void wait_for(WaitPattern pattern, std::uint32_t who, std::uint32_t whom, std::uint64_t ns) {
    sample.build().waits.push_back({pattern, who, waiting, whom, database::kNone, true, ns, 10, ns});
  }

  SampleExperiment sample;
  ContextId main = 0, loop = 0, waiting = 0;
};

/// adapt() is late on each of the ranks in turn.
struct AlternatingSample : HelperSample {
  AlternatingSample() {
    helper(function(loop, "even", 20), {20, 20, 20, 20});
    adapt = helper(function(loop, "adapt", 30), {3, 3, 3, 3});
    wait_in("MPI_Barrier", 7);
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      sample.build().trace.causes.push_back({rank, {adapt, false}, 6 * kSecond, 0, waiting});
      for (std::uint32_t whom = 0; whom < 4; ++whom)
        if (whom != rank) wait_for(WaitPattern::wait_at_barrier, rank, whom, 2 * kSecond);
    }
    sample.build().trace.causes.push_back({0, {waiting, false}, 2 * kSecond, 0, waiting});
  }

  ContextId adapt = 0;
};

}  // namespace

TEST_CASE("a common cause is named by the function that stands out, in each sentence, with one figure") {
  const AlternatingSample alternating;
  const std::string report = flowing(run(alternating.sample, {}));
  INFO(report);
  const std::string name = "adapt (in pause_for at t.h:11)";
  CHECK(holds(report, "Most of it comes from " + name + '.'));
  CHECK(holds(report, name + " on ranks 0-3, at most 6.00 s each, caused 92.3 % of 26.0 s of waiting."));
  const std::string causes = flowing(run(alternating.sample, {"causes"}));
  INFO(causes);
  CHECK(holds(causes, "92.3 % come from " + name + " on ranks 0-3, at most 6.00 s each."));
  CHECK(holds(causes, "92.3 %  ranks 0-3, at most 6.00 s each;"));
}

TEST_CASE("a procedure that calls itself is one cause, by its name") {
  HelperSample recursive;
  const ContextId cycle = recursive.function(recursive.loop, "cycle", 20);
  const ContextId smooth = recursive.function(cycle, "smooth", 30);
  const ContextId outer = recursive.helper(smooth, {2, 2, 3, 2});
  const ContextId inner = recursive.helper(recursive.function(smooth, "smooth", 30), {6, 6, 9, 6});
  recursive.helper(recursive.function(cycle, "restrict", 40), {9, 9, 9, 9});
  recursive.wait_in("MPI_Barrier", 4);
  recursive.sample.build().trace.causes = {{2, {inner, false}, 9 * kSecond, 0, recursive.waiting},
                                           {2, {outer, false}, 3 * kSecond, 0, recursive.waiting}};
  const database::Contents& e = recursive.sample.experiment();
  CHECK(cause_phrase(e, inner, true, 60, false) == "smooth (in pause_for at t.h:11)");
  CHECK(cause_phrase(e, outer, true, 60, false) == "smooth (in pause_for at t.h:11)");
  const std::string causes = flowing(run(recursive.sample, {"causes"}));
  INFO(causes);
  CHECK(holds(causes, "12.00 s   100 %  rank 2"));
}

TEST_CASE("code of a pipeline that takes as long on all ranks is no sure cause") {
  const auto confidence = [](WaitPattern pattern, std::uint64_t on_last_s) {
    HelperSample pipeline;
    const ContextId stage =
        pipeline.helper(pipeline.function(pipeline.loop, "stage", 20), {20, 20, 20, on_last_s});
    pipeline.wait_in("MPI_Recv", 4);
    pipeline.sample.build().trace.causes = {{3, {stage, false}, 1 * kSecond, 0, pipeline.main}};
    pipeline.sample.build().waits = {{WaitPattern::wait_at_barrier, 0, pipeline.main, 3, database::kNone,
                                      true, 60 * kSecond, 10, 60 * kSecond}};
    for (std::uint32_t rank = 1; rank < 4; ++rank) {
      pipeline.sample.build().trace.causes.push_back(
          {rank - 1, {stage, false}, 4 * kSecond, 0, pipeline.waiting});
      pipeline.wait_for(pattern, rank, rank - 1, 4 * kSecond);
    }
    const std::string text = flowing(run(pipeline.sample, {"causes"}));
    INFO(text);
    const std::string judged =
        nlohmann::json::parse(run(pipeline.sample, {"causes", "--format", "json"}))[0]["confidence"];
    CHECK(holds(text, "A pipeline that fills and drains needs no late rank") == (judged == "likely"));
    return judged;
  };
  CHECK(confidence(WaitPattern::late_sender, 20) == "likely");
  CHECK(confidence(WaitPattern::late_sender, 30) == "sure");
  CHECK(confidence(WaitPattern::wait_at_barrier, 20) == "sure");  // late in turns
}

TEST_CASE("the costliest code is one that samples tell") {
  HelperSample program;
  const ContextId stage = program.helper(program.function(program.loop, "stage", 20), {20, 20, 20, 30});
  program.wait_in("MPI_Recv", 4);
  std::vector<database::Cause> causes = {{3, {0, false}, 4 * kSecond, 0, program.waiting}};
  CHECK_FALSE(costliest_code(program.sample.experiment(), causes));
  causes.push_back({3, {stage, false}, 1 * kSecond, 0, program.waiting});
  const std::optional<CostliestCode> found = costliest_code(program.sample.experiment(), causes);
  REQUIRE(found);
  CHECK(found->code.scope.context == stage);
  causes.front().scope.between = true;  // between two calls: that has a name
  CHECK(costliest_code(program.sample.experiment(), causes)->code.scope.between);
}

TEST_CASE("a cause that held a lock is called a critical section") {
  HelperSample locks;
  const ContextId critical = locks.helper(locks.function(locks.loop, "critical", 20), {9, 9, 9, 9});
  const ContextId late = locks.helper(locks.function(locks.loop, "late", 30), {9, 9, 9, 9});
  locks.wait_in("MPI_Win_lock", 4);
  locks.sample.build().trace.causes = {{0, {critical, false}, 8 * kSecond, 0, locks.waiting},
                                       {1, {late, false}, 4 * kSecond, 0, database::kNone}};
  locks.wait_for(WaitPattern::lock_wait, 1, 0, 8 * kSecond);
  const std::string text = flowing(run(locks.sample, {"causes"}));
  INFO(text);
  CHECK(holds(text, "rank 0; critical section; made rank 1 wait in MPI_Win_lock"));
  CHECK(holds(text, "Critical section: others wait for its lock"));
  CHECK_FALSE(holds(text, "rank 1; critical section"));
  const auto json = nlohmann::json::parse(run(locks.sample, {"causes", "--format", "json"}));
  CHECK(json[0]["critical_section"] == true);
  CHECK(json[1]["critical_section"] == false);
}

TEST_CASE("that the slow rank changes over time is said where time lines show it") {
  const auto why = [](const HelperSample& of) {
    return flowing(unexplained_phrase(views::Figures(of.sample),
                                      {.context = of.loop, .idle_s = 28, .counted_s = 28}, "20.0 s", 0.2));
  };
  AlternatingSample alternating;
  CHECK(why(alternating) == "20.0 s remain unexplained: the slow rank changes over time; see `causes`.");
  alternating.sample.build().waits.clear();
  for (std::uint32_t rank = 1; rank < 4; ++rank)  // a chain
    alternating.wait_for(WaitPattern::late_sender, rank, rank - 1, 8 * kSecond);
  CHECK(why(alternating) ==
        "20.0 s remain unexplained: in each call, ranks wait for the same rank all the time; see `causes`.");
  alternating.sample.build().waits.clear();  // two ranks by turns
  alternating.wait_for(WaitPattern::wait_at_nxn, 1, 0, 12 * kSecond);
  alternating.wait_for(WaitPattern::wait_at_nxn, 0, 1, 12 * kSecond);
  CHECK(why(alternating) == "20.0 s remain unexplained: the slow rank changes over time; see `causes`.");
  alternating.sample.build().trace.traced = 0;
  CHECK(why(alternating) ==
        "20.0 s remain unexplained: sums over the run do not show what ranks waited for; hpcrun-lite --trace "
        "does.");
}

TEST_CASE("A cause and a suspect that are the same code have one name") {
  for (const std::uint64_t beside_s : {0, 2}) {
    SampleExperiment sample({"REALTIME", "idleness"});
    sample.add_location(0, 0, sample.add_role("main"));
    const ContextId main = sample.add(0, {ContextKind::procedure, "main", "a.c", 3});
    const ContextId loop = sample.add(main, {ContextKind::loop, "", "a.c", 10});
    sample.set(sample.add(loop, {ContextKind::statement, "", "a.c", 11}), 0, 0, beside_s * kSecond);
    const ContextId call = sample.add(loop, {ContextKind::call, "", "a.c", 12});
    const ContextId work = sample.add(call, {ContextKind::procedure, "work", "a.c", 20});
    sample.set(sample.add(work, {ContextKind::statement, "", "a.c", 21}), 0, 0, 10 * kSecond);
    sample.finish();
    sample.build().suspects = {{.role = 0,
                                .balanced = main,
                                .suspect = call,
                                .locations = {0},
                                .excess_ns = kSecond,
                                .explains_ns = kSecond,
                                .save_balanced_ns = kSecond,
                                .save_removed_ns = kSecond,
                                .named = call,
                                .confidence = database::Confidence::sure,
                                .doubt = database::Doubt::none,
                                .scopes = {call},
                                .explained = {{main, kSecond}}}};
    const std::string suspect = suspect_names(sample.experiment(), 40, true).front();
    CHECK(suspect == "call at a.c:12 in main");
    const bool same = beside_s == 0;
    CHECK((cause_phrase(sample.experiment(), loop, false, 40, true) == suspect) == same);
    CHECK((code_names(sample.experiment(), {loop}, 40, true).at(loop) == suspect) == same);
  }
}

}  // namespace culprit::viewer::testing::causes_test
