#include "commands/run.hpp"
#include "viewer-cli/run.hpp"
#include "views/solver_sample.hpp"

#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace culprit::viewer::testing {

using database::ContextKind;
using views::testing::SampleExperiment;
using views::testing::SolverSample;
using views::testing::WorkersSample;

namespace {

std::string diff(const views::Source& first, const views::Source& second,
                 std::vector<std::string> words = {}) {
  words.insert(words.begin(), {"diff", "run2.db"});
  return run(first, words, 100, true, &second);
}

nlohmann::json diff_json(const views::Source& first, const views::Source& second,
                         std::vector<std::string> words = {}) {
  words.insert(words.end(), {"--format", "json"});
  return nlohmann::json::parse(diff(first, second, std::move(words)));
}

}  // namespace

TEST_CASE(
    "diff: json has every scope, the largest change first, and the whole is the difference of the totals") {
  const SolverSample before;
  const WorkersSample after;
  const nlohmann::json result = diff_json(before.sample, after.sample);
  CHECK(result["metric"] == "REALTIME:sum (I)");
  double last = INFINITY;
  bool whole = false;
  for (const nlohmann::json& node : result["nodes"]) {
    CHECK(std::abs(node["change"].get<double>()) <= last);
    last = std::abs(node["change"].get<double>());
    CHECK(node["change"] == node["b"].get<double>() - node["a"].get<double>());
    CHECK(node.contains("scaling_loss"));
    if (node["a"] == 0) CHECK(node["ratio"].is_null());
    if (node["path"].size() > 1) continue;
    whole = true;
    CHECK(node["a"] == 8000);
    CHECK(node["b"] == 80);
  }
  CHECK(whole);
}

TEST_CASE("diff: csv has a row per scope, with as many fields as its header") {
  const SolverSample before;
  const SolverSample after;
  const std::string csv = diff(before.sample, after.sample, {"--format", "csv"});
  CHECK(csv.starts_with("path,kind,a,b,change,ratio,scaling_loss\n"));
  CHECK(csv.find("<run>/<program root>/main/cg_iterate/loop at solver.c:412,loop,7840,7840,0,1,0\n") !=
        std::string::npos);
  const std::size_t nodes = diff_json(before.sample, after.sample)["nodes"].size();
  CHECK(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')) == nodes + 1);
}

TEST_CASE("diff: text says what the runs are, which scaling is meant and why, and what is new or gone") {
  const SolverSample before;
  const WorkersSample after;
  const std::string text = diff(before.sample, after.sample);
  CHECK(text.find("before  run1.db: 8 ranks, 1 000 s") != std::string::npos);
  CHECK(text.find("after   run2.db: 4 ranks, 10.0 s") != std::string::npos);
  CHECK(text.find("weak scaling") != std::string::npos);  // far less work on half of the ranks
  CHECK(text.find("0.50 times") != std::string::npos);
  CHECK(text.find("cg_iterate  (gone)") != std::string::npos);
  CHECK(diff(after.sample, before.sample, {"--min", "0"}).find("cg_iterate  (new)") != std::string::npos);
  const std::string asked = diff(before.sample, after.sample, {"--scaling", "strong"});
  CHECK(asked.find("strong scaling") != std::string::npos);
  CHECK(asked.find("as --scaling asks for") != std::string::npos);
  CHECK(asked.find("MPI_Allreduce") != std::string::npos);
  CHECK(asked.find("opal_progress") == std::string::npos);
  CHECK(diff(before.sample, after.sample, {"--all"}).find("opal_progress") != std::string::npos);
  // Equal runs: nothing to tell.
  const std::string equal = diff(before.sample, before.sample);
  CHECK(equal.find("(nothing to show)") != std::string::npos);
  CHECK(equal.find("scaling") == std::string::npos);
}

TEST_CASE("diff: ranks and formulas are chosen as in views") {
  const SolverSample before;
  const SolverSample after;
  const nlohmann::json ranks = diff_json(before.sample, after.sample, {"--ranks", "0,3"});
  CHECK(ranks["unit"] == "s");
  for (const nlohmann::json& node : ranks["nodes"]) {
    CHECK(node["change"] == 0);
    if (node["path"].size() == 1) CHECK(node["a"] == 2000);
  }
  CHECK(diff(before.sample, after.sample, {"--ranks", "0"}).find(" of rank 0 went from") !=
        std::string::npos);

  const std::vector<std::string> formula = {"--derive", "waiting = $idleness / $REALTIME", "--metric",
                                            "waiting"};
  const nlohmann::json derived = diff_json(before.sample, after.sample, formula);
  CHECK(derived["metric"] == "waiting");
  for (const nlohmann::json& node : derived["nodes"]) {
    CHECK(node["scaling_loss"].is_null());
    if (node["path"].back()["name"] != "MPI_Allreduce") continue;
    CHECK(node["a"] == 1);
    CHECK(node["ratio"] == 1);
  }
  const std::string text = diff(before.sample, after.sample, formula);
  CHECK(text.find("waiting went from 0.") != std::string::npos);
  CHECK(text.find("nan") == std::string::npos);
}

TEST_CASE("diff: says which of the runs is unfinished, and what shares are of") {
  SolverSample before;
  SolverSample after;
  CHECK_THAT(diff(before.sample, after.sample), !Catch::Contains("Note: "));
  CHECK(diff_json(before.sample, after.sample)["notes"].empty());
  after.sample.build().quality.cut_short = 2;
  CHECK_THAT(
      diff(before.sample, after.sample),
      Catch::Contains("Note: after: 2 processes were cut short, or still ran when they were merged: ") &&
          !Catch::Contains("Note: before"));
  CHECK(diff_json(before.sample, after.sample)["notes"][0]["run"] == "after");
  CHECK_THAT(diff(after.sample, before.sample), Catch::Contains("Note: before: 2 processes were"));
  const WorkersSample workers;
  CHECK_THAT(diff(workers.sample, after.sample), Catch::Contains("is of the larger total, 8 000.0 s."));
}

TEST_CASE("diff: threads of a role that one run lacks are compared with nothing") {
  const SolverSample before;
  const WorkersSample after;
  const nlohmann::json gained = diff_json(before.sample, after.sample, {"--role", "worker_main"});
  REQUIRE(!gained["nodes"].empty());
  for (const nlohmann::json& node : gained["nodes"]) CHECK(node["a"] == 0);
  CHECK(gained["nodes"][0]["b"] > 0);
  CHECK_THAT(diff(before.sample, after.sample, {"--role", "worker_main"}),
             Catch::Contains("threads of role worker_main went from 0") && Catch::Contains("(new)"));
  const nlohmann::json lost = diff_json(after.sample, before.sample, {"--role", "worker_main"});
  CHECK(lost["nodes"][0]["b"] == 0);
  CHECK_THROWS_WITH(
      diff(before.sample, after.sample, {"--role", "worker_mian"}),
      Catch::StartsWith("--role: ") && Catch::Contains("run2.db: ") && Catch::Contains("did you mean"));
}

namespace {

/// `read` and `write` spend their time in a function that both call.
struct TwoCallers {
  explicit TwoCallers(std::uint64_t seconds) {
    const std::uint32_t rank = sample.add_location(0, 0, sample.add_role("main"));
    const auto main = sample.add(0, {ContextKind::procedure, "main", "a.c", 1});
    std::uint32_t line = 10;
    for (const char* const name : {"read", "write"}) {
      const auto caller = sample.add(main, {ContextKind::procedure, name, "a.c", line});
      const auto call = sample.add(caller, {ContextKind::call, "", "a.c", line + 1});
      const auto copy = sample.add(call, {ContextKind::procedure, "copy", "a.c", 50});
      sample.set(sample.add(copy, {ContextKind::statement, "", "a.c", 51}), 0, rank, seconds * kSecond);
      line += 10;
      seconds *= 2;
    }
    sample.finish();
  }
  SampleExperiment sample{{"REALTIME"}};
};

}  // namespace

TEST_CASE("diff: of code with one name that changed in two places, the callers are named") {
  const TwoCallers before(10), after(15);
  CHECK_THAT(diff(before.sample, after.sample),
             Catch::Contains("+10.00 s  copy in write\n") && Catch::Contains("+5.00 s  copy in read\n"));
}

TEST_CASE("diff: metrics that do not add up, or that one run does not have, are refused") {
  const SolverSample before;
  SampleExperiment after({"REALTIME"});
  after.add_location(0, 0, after.add_role("main"));
  after.finish();
  CHECK_THROWS_WITH(diff(before.sample, before.sample, {"--metric", "REALTIME:max"}),
                    Catch::Contains("REALTIME:max") && Catch::Contains(":mean"));
  CHECK_THROWS_WITH(diff(before.sample, after, {"--metric", "CPU"}),
                    Catch::StartsWith("run2.db: ") && Catch::Contains("CPU"));
  CHECK_THROWS_AS(diff(before.sample, before.sample, {"--focus", "("}), UsageError);
  CHECK_THROWS_WITH(diff(before.sample, before.sample, {"--metric", "imbalance", "--ranks", "0"}),
                    Catch::Contains("--ranks"));
  CHECK_THROWS_WITH(diff(before.sample, after, {"--ranks", "0,7"}),
                    Catch::StartsWith("run2.db: --ranks: ") && Catch::Contains("7"));
  CHECK_THROWS_WITH(diff(before.sample, before.sample, {"--derive", "x = $REALTIME:max", "--metric", "x"}),
                    Catch::Contains("REALTIME:max") && Catch::Contains(":mean"));
}

}  // namespace culprit::viewer::testing
