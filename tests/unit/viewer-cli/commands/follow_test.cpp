#include "commands/follow.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace culprit::viewer {
namespace {

using follow::State;

follow::Summary example() {
  follow::Summary summary;
  summary.run_s = 12.42;
  summary.interval.seconds = 2;
  summary.interval.share = {0.4, 0.6, 0, 0, 0};
  for (int rank = 0; rank < 4; ++rank) {
    follow::RankRow row{.rank = rank,
                        .process = "here:" + std::to_string(100 + rank),
                        .state = rank == 3 ? State::work : State::wait,
                        .seconds = 2,
                        .at = {}};
    summary.interval.ranks.push_back(row);
  }
  follow::HotSpot hot;
  hot.text = "assemble at solve.c:41";
  hot.procedure = "assemble";
  hot.file = "/src/solve.c";
  hot.line = 41;
  hot.ranks = {3};
  summary.interval.hot = {hot};
  summary.interval.diagnosis = "rank 3 works";
  summary.whole = summary.interval;
  return summary;
}

}  // namespace

TEST_CASE("a line says what ranks do and who is waited for") {
  follow::Summary summary = example();
  CHECK(line_of(summary) == "12.4 s  4 ranks: 1 works, 3 wait; waiting 60 % of the last 2.0 s; rank 3 works");
  summary.standstill = "all ranks have only waited for 6 s";
  CHECK(line_of(summary).starts_with("12.4 s  all ranks have only waited for 6 s; 4 ranks: 1 works"));
  CHECK(follow_json(summary)["standstill"] == summary.standstill);
  summary.standstill.clear();
  CHECK(follow_json(summary)["standstill"].is_null());
  summary.iterations = follow::IterationRate{.per_minute = 118.2};
  CHECK(line_of(summary).ends_with("; 118 iterations/min"));
  summary.iterations = follow::IterationRate{.per_minute = 4.25, .inferred = true, .spot = 0};
  summary.iterations_at = "MPI_Barrier (main at solve.c:9)";
  CHECK(iterations_in_words(summary) == "4.2 iterations/min, inferred from MPI_Barrier (main at solve.c:9)");
}

TEST_CASE("processes without ranks are processes") {
  follow::Summary summary = example();
  summary.interval.ranks.resize(1);
  summary.interval.ranks[0].rank = -1;
  summary.interval.ranks[0].state = State::no_processor;
  CHECK(line_of(summary).starts_with("12.4 s  1 process: 1 has no processor; waiting"));
}

TEST_CASE("a look as json has the interval and the run") {
  const Json json = follow_json(example());
  CHECK(json["interval"]["ranks"].size() == 4);
  CHECK(json["run"]["ranks"][3]["state"] == "work");
  CHECK(json["interval"]["hot"][0]["line"] == 41);
  CHECK(json["interval"]["shares"]["wait"] == Approx(0.6));
  CHECK(json["iterations"].is_null());
}

TEST_CASE("looks take one percent of a processor at most") {
  CHECK(pause_after(0.001, 2).count() == 2000);
  CHECK(pause_after(0.05, 2).count() == 5000);
}

}  // namespace culprit::viewer
