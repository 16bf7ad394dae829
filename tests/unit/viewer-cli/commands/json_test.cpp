// The JSON shapes, field by field.
#include "viewer-cli/run.hpp"
#include "views/solver_sample.hpp"

#include <functional>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace culprit::viewer::testing {
namespace {

using nlohmann::json;
using views::testing::SampleExperiment;
using views::testing::SolverSample;
using views::testing::WorkersSample;

json parse(const views::Source& source, std::vector<std::string> words) {
  words.insert(words.end(), {"--format", "json"});
  return json::parse(run(source, words));
}

void check_frame(const json& frame) {
  REQUIRE(frame.size() == 5);
  CHECK(frame["name"].is_string());
  CHECK(frame["file"].is_string());
  CHECK(frame["line"].is_number_unsigned());
  CHECK(frame["module"].is_string());
  CHECK(frame["kind"].is_string());
}

void check_path(const json& path) {
  REQUIRE(path.is_array());
  REQUIRE_FALSE(path.empty());
  CHECK(path[0]["kind"] == "root");
  for (const json& frame : path) check_frame(frame);
}

void check_location(const json& location) {
  CHECK((location["rank"].is_number_integer() || location["rank"].is_null()));
  CHECK(location["thread"].is_number_unsigned());
  CHECK(location["role"].is_string());
  CHECK(location["process"].get<std::string>().find(':') != std::string::npos);
}

void check_node(const json& node, const json& metrics) {
  CHECK(node["id"].is_string());
  check_frame(node["frame"]);
  CHECK(node["values"].size() == metrics.size());
  for (const json& metric : metrics) CHECK(node["values"].contains(metric.get<std::string>()));
  CHECK((node["observers"].is_number_unsigned() || node["observers"].is_null()));
  CHECK(node["threads"].is_number_unsigned());
  for (const json& child : node["children"]) check_node(child, metrics);
}

}  // namespace

TEST_CASE("view: every node, with every metric and its unit") {
  const SolverSample solver;
  for (const std::string view : {"calling-context", "callers", "flat"}) {
    const json shown =
        parse(solver.sample, {"view", view, "--metrics", "REALTIME:sum (I),idleness:cv,samples (E)"});
    CHECK(shown["view"] == view);
    CHECK(shown["metrics"] == json({"REALTIME:sum (I)", "idleness:cv (I)", "samples:sum (E)"}));
    CHECK(shown["units"] ==
          json({{"REALTIME:sum (I)", "s"}, {"idleness:cv (I)", "ratio"}, {"samples:sum (E)", "count"}}));
    REQUIRE(shown["roots"].is_array());
    for (const json& root : shown["roots"]) check_node(root, shown["metrics"]);
  }
  const json tree = parse(solver.sample, {"view"});
  std::size_t nodes = 0;
  const std::function<void(const json&)> count = [&](const json& node) {
    ++nodes;
    for (const json& child : node["children"]) count(child);
  };
  for (const json& root : tree["roots"]) count(root);
  CHECK(nodes == solver.sample.experiment().contexts.size());
  CHECK(tree["roots"][0]["values"]["REALTIME:sum (I)"] == 8000.0);
}

TEST_CASE("view: limits leave out only when asked, and missing figures are null") {
  const SolverSample solver;
  CHECK(parse(solver.sample, {"view", "--depth", "0"})["roots"][0]["children"].empty());
  CHECK(parse(solver.sample, {"view", "--focus", "nothing like it"})["roots"].empty());
  const json some = parse(solver.sample, {"view", "--ranks", "3,7", "--metrics", "REALTIME,imbalance"});
  CHECK(some["roots"][0]["values"]["REALTIME:sum (I)"] == 2000.0);
  CHECK(some["roots"][0]["values"]["imbalance:sum (I)"].is_null());
  CHECK(some["roots"][0]["threads"] == 2);
}

TEST_CASE("view: a role can be chosen and is named") {
  const WorkersSample workers;
  CHECK(parse(workers.sample, {"view"})["role"].is_null());
  const json shown = parse(workers.sample, {"view", "--role", "worker_main", "--metrics", "idleness:mean"});
  CHECK(shown["role"] == "worker_main");
  CHECK(shown["roots"][0]["values"]["idleness:mean (I)"] == 5.0);
  CHECK(shown["roots"][0]["threads"] == 4);
}

TEST_CASE("hot-path: steps with their share of the run") {
  const SolverSample solver;
  const json path = parse(solver.sample, {"hot-path", "--metric", "idleness"});
  CHECK(path["metric"] == "idleness:sum (I)");
  REQUIRE(path["path"].size() > 3);
  for (const json& step : path["path"]) {
    CHECK(step["id"].is_string());
    check_frame(step["frame"]);
    CHECK(step["value"] == 1710.0);
    CHECK(step["share"] == 1.0);
  }
}

TEST_CASE("threads: one value per location, by rank") {
  const SolverSample solver;
  const json threads = parse(solver.sample, {"threads", "spmv", "--metric", "REALTIME (I)"});
  check_path(threads["node"]);
  CHECK(threads["metric"] == "REALTIME:sum (I)");
  REQUIRE(threads["values"].size() == 8);
  for (std::size_t rank = 0; rank < 8; ++rank) {
    check_location(threads["values"][rank]);
    CHECK(threads["values"][rank]["rank"] == rank);
    CHECK(threads["values"][rank]["value"] == (rank == 3 || rank == 7 ? 705.0 : 500.0));
  }
}

TEST_CASE("blame: path, idleness, share and waiters") {
  const SolverSample solver;
  const json blame = parse(solver.sample, {"blame"});
  REQUIRE(blame.size() == 1);
  CHECK(blame[0]["id"] == 'c' + std::to_string(solver.loop));
  check_path(blame[0]["path"]);
  CHECK(blame[0]["path"].back()["kind"] == "loop");
  CHECK(blame[0]["idleness_s"] == 1710.0);
  CHECK(blame[0]["share"] == 1.0);
  CHECK(blame[0]["role"] == "main");
  REQUIRE(blame[0]["waiters"].size() == 6);
  for (const json& waiter : blame[0]["waiters"]) {
    check_location(waiter);
    CHECK(waiter["rank"] != 3);
    CHECK(waiter["rank"] != 7);
  }
}

TEST_CASE("suspects: both paths, ranks, and what mending saves") {
  const SolverSample solver;
  const json suspects = parse(solver.sample, {"suspects"});
  REQUIRE(suspects.size() == 1);
  check_path(suspects[0]["balanced"]);
  check_path(suspects[0]["suspect"]);
  CHECK(suspects[0]["ranks"] == json({3, 7}));
  REQUIRE(suspects[0]["locations"].size() == 2);
  check_location(suspects[0]["locations"][0]);
  CHECK(suspects[0]["excess_s"] == 307.5);
  CHECK(suspects[0]["explains_s"] == 1230.0);
  CHECK(suspects[0]["save_balanced_s"] == 153.75);
  CHECK(suspects[0]["save_removed_s"] == 205.0);
  CHECK(suspects[0]["more_work"].get<double>() == Approx(0.41));
  CHECK(suspects[0]["excess_cpu_share"].get<double>() == Approx(1));
}

TEST_CASE("report: the figures of the diagnosis") {
  const SolverSample solver;
  const json report = parse(solver.sample, {"report"});
  CHECK(report["idle_share"].get<double>() == Approx(1710.0 / 8000));
  CHECK(report["idle_s"] == 1710.0);
  CHECK(report["total_s"] == 8000.0);
  REQUIRE(report["where"].size() == 1);
  CHECK(report["where"][0]["name"] == "MPI_Allreduce");
  CHECK(report["where"][0]["share"] == 1.0);
  CHECK(report["blame"] == parse(solver.sample, {"blame"}));
  CHECK(report["suspects"] == parse(solver.sample, {"suspects"}));
  for (const char* figure :
       {"ranks", "samples", "partial", "unresolved", "dropped", "clock_violations", "cut_short"}) {
    CHECK(report["quality"][figure].is_number_unsigned());
  }
}

TEST_CASE("report: roles are distinguished and add up") {
  const WorkersSample workers;
  const json report = parse(workers.sample, {"report"});
  REQUIRE(report["roles"].size() == 2);
  CHECK(report["roles"][0]["idle_s"] == 0.0);
  CHECK(report["roles"][1]["role"] == "worker_main");
  CHECK(report["roles"][1]["idle_share"] == 0.5);
  CHECK(report["idle_s"] == 20.0);
  CHECK(report["total_s"] == 80.0);
}

TEST_CASE("info: what was run and how good the data is") {
  const SolverSample solver;
  const json info = parse(solver.sample, {"info"});
  CHECK(info["command"] == json({"/opt/cg/bin/cg", "-n", "512", "--tolerance", "1e-9"}));
  CHECK(info["ranks"] == 8);
  CHECK(info["threads"] == 8);
  CHECK(info["samples"] == 1'600'000);
  for (const char* figure : {"partial", "unresolved", "dropped", "clock_violations", "cut_short"}) {
    CHECK(info[figure] == 0);
  }
  CHECK(info["events"] == json({"REALTIME@5000"}));
  CHECK(info["modules"].size() == 2);
  CHECK(info["start"] == "2027-01-15T08:00:00Z");
  CHECK(info["duration_s"] == 1000.0);
}

TEST_CASE("efficiency: what a profile knows, and null for the rest") {
  const SolverSample solver;
  const json figures = parse(solver.sample, {"efficiency"});
  CHECK(figures["parallel"].get<double>() == Approx((6 * 735 + 2 * 940) / 8.0 / 1000));
  CHECK(figures["load_balance"].get<double>() == Approx((6 * 735 + 2 * 940) / 8.0 / 940));
  CHECK(figures["communication"].get<double>() == Approx(0.94));
  CHECK(figures["serialization"].is_null());
  CHECK(figures["transfer"].is_null());
  CHECK(run(solver.sample, {"efficiency", "--format", "csv"})
            .ends_with("\nrun,,,serialization,\nrun,,,transfer,\n"));
}

TEST_CASE("Nothing measured gives valid documents too") {
  SampleExperiment empty({"REALTIME", "idleness", "CPU"});
  empty.add_role("main");
  empty.finish();
  CHECK(parse(empty, {"report"})["idle_share"] == 0.0);
  CHECK(parse(empty, {"blame"}).empty());
  CHECK(parse(empty, {"suspects"}).empty());
  CHECK(parse(empty, {"hot-path"})["path"].empty());
  CHECK(parse(empty, {"view"})["roots"].size() == 1);
  CHECK(parse(empty, {"efficiency"})["parallel"].is_null());
  CHECK(parse(empty, {"info"})["samples"] == 0);
}

TEST_CASE("Names that are no UTF-8 do not break JSON") {
  SampleExperiment sample({"REALTIME"});
  sample.add_location(-1, 0, sample.add_role("main"));
  const database::ContextId odd = sample.add(0, {database::ContextKind::procedure, "f\xff\xfe", "a.c", 1});
  sample.set(sample.add(odd, {database::ContextKind::statement, "", "a.c", 2}), 0, 0, 5);
  sample.finish();
  CHECK(parse(sample, {"view"})["roots"][0]["children"][0]["frame"]["name"] == "f\\xff\\xfe");
  CHECK(parse(sample, {"threads", "c1"})["values"][0]["rank"].is_null());
}

}  // namespace culprit::viewer::testing
