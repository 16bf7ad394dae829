// The words of `what-if`, for answers of a replay that are written down; replays are tested in lib/waits.
#include "commands/what_if.hpp"

#include "request/errors.hpp"
#include "viewer-cli/run.hpp"
#include "views/solver_sample.hpp"

#include <array>
#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace culprit::viewer::testing {
namespace {

using Kind = merge::WhatIfChange::Kind;
using metrics::WaitPattern;

merge::WhatIfAnswer answer_of(const views::testing::SolverSample& solver) {
  return {.run_ns = 1000 * kSecond,
          .predicted_ns = 790 * kSecond,
          .waiting_ns = 1710 * kSecond,
          .predicted_waiting_ns = 140 * kSecond,
          .waits = {{WaitPattern::wait_at_nxn, solver.allreduce, 1500 * kSecond, 20 * kSecond},
                    {WaitPattern::late_sender, solver.allreduce, 210 * kSecond, 0},
                    {WaitPattern::late_receiver, solver.allreduce, 0, 120 * kSecond}},
          .codes = {{.before_ns = 5e12, .after_ns = 5e12, .largest_ns = 8e11, .threads = 8}},
          .contradictions = 0};
}

std::string flat_id_of(const database::Contents& experiment, std::string_view procedure) {
  for (std::uint32_t scope = 0; scope < experiment.flat.size(); ++scope) {
    if (experiment.strings[experiment.flat[scope].name] == procedure) return 'f' + std::to_string(scope);
  }
  return {};
}

}  // namespace

TEST_CASE("what-if: how long the run would take, whose waits get shorter, and which get longer") {
  const views::testing::SolverSample solver;
  Invocation invocation;
  invocation.what_if.balanced = {"spmv"};
  std::ostringstream out;
  const merge::WhatIfAnswer answer = answer_of(solver);
  merge::WhatIfAnswer each = answer;
  each.predicted_ns = 700 * kSecond;
  write_what_if(out, {}, solver.sample.experiment(), invocation, std::array{answer, each});
  const std::string text = flowing(out.str());
  const auto says = [&text](const char* words) {
    INFO(text);
    CHECK(text.find(words) != std::string::npos);
  };
  says(
      "If spmv took the same time on all ranks, the run would take 790 s in place of 1 000 s: 210 s, 21.0 % "
      "less.");
  says("Computing in spmv: 5 000 s on 8 time lines, at most 800 s on one; then 5 000 s in all.");
  says("All ranks' waiting: 1 710 s, then 140 s");
  says("Waits that get shorter");
  says("1 480.0 s  wait-at-nxn  1 500 s, then 20.0 s");
  says("Waits that get longer");
  says("120.0 s  late-receiver  0 s, then 120 s");
  says("the run would take 700 s (--each).");

  const Json json = what_if_json(solver.sample.experiment(), answer);
  CHECK(json["run_s"] == 1000.0);
  CHECK(json["predicted_s"] == 790.0);
  CHECK(json["waiting_s"] == 1710.0);
  CHECK(json["predicted_waiting_s"] == 140.0);
  REQUIRE(json["changes"].size() == 3);
  CHECK(json["changes"][0]["pattern"] == "wait-at-nxn");
  CHECK(json["changes"][0]["before_s"] == 1500.0);
  CHECK(json["changes"][0]["after_s"] == 20.0);
  CHECK(json["changes"][0]["path"].is_array());
}

TEST_CASE("what-if: code is found by path or id, with all that it calls; communication is none") {
  const views::testing::SolverSample solver;
  Invocation invocation;
  invocation.what_if.removed = {"cg_iterate/spmv"};
  invocation.what_if.sped_up = {"cg_iterate=1.5"};
  invocation.ranks = "3,7";
  const merge::WhatIfQuestion question = what_if_question(solver.sample, invocation);
  REQUIRE(question.changes.size() == 2);
  CHECK(question.changes[0].kind == Kind::remove);
  REQUIRE(question.changes[0].where.size() == 1);
  CHECK(question.changes[0].where[0].first == solver.spmv);
  CHECK(question.changes[1].kind == Kind::speed_up);
  CHECK(question.changes[1].factor == 1.5);
  CHECK(question.ranks == std::vector<std::int32_t>{3, 7});

  Invocation by_id;
  by_id.what_if.removed = {flat_id_of(solver.sample.experiment(), "spmv")};
  CHECK(what_if_question(solver.sample, by_id).changes[0].where[0].first == solver.spmv);

  const auto refuses = [&](const Invocation& wrong) { CHECK_THROWS(what_if_question(solver.sample, wrong)); };
  Invocation wrong;
  wrong.what_if.removed = {"MPI_Allreduce"};
  refuses(wrong);
  wrong.what_if.removed = {"nowhere"};
  refuses(wrong);
  wrong.what_if.removed = {};
  for (const char* text :
       {"spmv", "spmv=", "spmv=fast", "spmv=0", "spmv=-2", "=2", "spmv=nan", "spmv=1e-300", "spmv=inf"}) {
    wrong.what_if.sped_up = {text};
    CHECK_THROWS_AS(what_if_question(solver.sample, wrong), UsageError);
  }
}

TEST_CASE("what-if: one change for each code, and the ranks that it concerns") {
  const views::testing::SolverSample solver;
  Invocation invocation;
  invocation.what_if.removed = {"cg_iterate/spmv"};
  invocation.what_if.balanced = {"spmv"};
  CHECK_THROWS_WITH(what_if_question(solver.sample, invocation), Catch::Contains("changed twice"));

  invocation = {};
  invocation.what_if.sped_up = {"cg_iterate=0.05"};
  invocation.what_if.balanced = {"spmv"};
  invocation.ranks = "3,7";
  std::ostringstream out;
  write_what_if(out, {}, solver.sample.experiment(), invocation, std::array{answer_of(solver)});
  const std::string text = flowing(out.str());
  INFO(text);
  CHECK(text.find("If cg_iterate were 0.0500 times as fast on ranks 3,7 and spmv took the same time on ranks "
                  "3,7, the run") != std::string::npos);
}

TEST_CASE("what-if: a run without a trace, or without its directory, says what to do") {
  const views::testing::SolverSample solver;
  CHECK_THROWS_WITH(run(solver.sample, {"what-if", "--remove", "spmv"}), Catch::Contains("--trace"));
}

}  // namespace culprit::viewer::testing
