#include "commands/run.hpp"
#include "viewer-cli/run.hpp"
#include "views/solver_sample.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace culprit::viewer::testing {

using views::testing::SolverSample;

TEST_CASE("Collapsed stacks hold all time as whole microseconds, root first") {
  const SolverSample solver;
  std::istringstream lines(run(solver.sample, {"export", "collapsed"}));
  std::uint64_t sum = 0;
  bool seen = false;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t blank = line.rfind(' ');
    REQUIRE(blank != std::string::npos);
    sum += std::stoull(line.substr(blank + 1));
    seen = seen || line ==
                       "rank_3;<program root>;main;cg_iterate;loop at solver.c:412;spmv;loop at spmv.c:90;"
                       "spmv.c:92 705000000";
  }
  CHECK(sum == 8'000'000'000U);
  CHECK(seen);
}

TEST_CASE(
    "Collapsed stacks survive names that hold their separators, and add up where times are no whole µs") {
  views::testing::SampleExperiment sample({"REALTIME"});
  const std::uint32_t location = sample.add_location(0, 0, sample.add_role("main"));
  const auto program = sample.add(0, {database::ContextKind::root, "<program root>", "", 0, ""});
  std::uint64_t ns = 0;
  for (const std::string name :
       {"std::map<int;int>::find", "a\nb\tc", "operator 12", "trailing 1.5", "blank "}) {
    const auto procedure = sample.add(program, {database::ContextKind::procedure, name, "a.c", 1});
    const auto line = sample.add(procedure, {database::ContextKind::statement, "", "", 0, ""});
    sample.set(line, 0, location, 1400);
    ns += 1400;
  }
  const auto leaf = sample.add(program, {database::ContextKind::inlined, "leaf 7", "a.c", 1});
  sample.set(leaf, 0, location, 1400);
  ns += 1400;
  sample.finish();
  std::istringstream lines(run(sample, {"export", "collapsed"}));
  std::uint64_t sum = 0;
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line); ++number) {
    INFO(line);
    CHECK(std::count(line.begin(), line.end(), ';') == (number < 5 ? 3 : 2));
    const std::size_t blank = line.rfind(' ');
    CHECK(line.find('\t') == std::string::npos);
    const char before = line[blank - 1];
    CHECK(before != ' ');
    // Nothing in front of the count may be taken for another count.
    const std::string stack = line.substr(0, blank);
    const std::size_t digits = stack.find_last_not_of("0123456789.");
    CHECK(stack[digits] != ' ');
    sum += std::stoull(line.substr(blank + 1));
  }
  CHECK(number == 6);
  CHECK(sum == (ns + 500) / 1000);
}

TEST_CASE("speedscope profiles have one weight per sample and frames in range") {
  const SolverSample solver;
  const nlohmann::json file =
      nlohmann::json::parse(run(solver.sample, {"export", "speedscope", "--metric", "CPU"}));
  REQUIRE(file["profiles"].size() == 8);
  for (const nlohmann::json& profile : file["profiles"]) {
    CHECK(profile["type"] == "sampled");
    CHECK(profile["unit"] == "nanoseconds");
    REQUIRE(profile["samples"].size() == profile["weights"].size());
    std::uint64_t sum = 0;
    for (const nlohmann::json& weight : profile["weights"]) sum += weight.get<std::uint64_t>();
    CHECK(profile["endValue"] == sum);
    for (const nlohmann::json& stack : profile["samples"]) {
      for (const nlohmann::json& frame : stack)
        CHECK(frame.get<std::size_t>() < file["shared"]["frames"].size());
    }
  }
}

TEST_CASE("Hatchet's formats hold every scope once, and sums over ranks agree") {
  const SolverSample solver;
  const nlohmann::json literal = nlohmann::json::parse(run(solver.sample, {"export", "hatchet"}));
  REQUIRE(literal.size() == 1);
  CHECK(literal[0]["metrics"]["time (inc)"] == 8000);
  const nlohmann::json caliper = nlohmann::json::parse(run(solver.sample, {"export", "caliper"}));
  double sum = 0;
  for (const nlohmann::json& row : caliper["data"]) sum += row[2].get<double>();
  CHECK(sum == 8000);
  CHECK(caliper["culprit.processes"].size() == 8);
  CHECK(caliper["columns"][3] == "inclusive#sum#time.duration");
}

TEST_CASE("pprof's profile is a gzip file, the same for the same run") {
  const SolverSample solver;
  const std::string first = run(solver.sample, {"export", "pprof"});
  REQUIRE(first.size() > 18);
  CHECK(first.substr(0, 3) == "\x1f\x8b\x08");
  CHECK(first.substr(4, 4) == std::string(4, '\0'));  // no time
  CHECK(first == run(solver.sample, {"export", "pprof"}));
  CHECK_THROWS_AS(run(solver.sample, {"export", "pprof", "--metric", "imbalance"}), UsageError);
}

TEST_CASE("CSV and JSON exports hold every context and every metric") {
  const SolverSample solver;
  const std::string csv = run(solver.sample, {"export", "csv"});
  const auto rows = static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n'));
  CHECK(rows == solver.sample.experiment().contexts.size() + 1);
  CHECK(csv.find("CPU:sum (E)") != std::string::npos);
  const nlohmann::json json = nlohmann::json::parse(run(solver.sample, {"export", "json"}));
  CHECK(json["metrics"].size() == 2 * solver.sample.experiment().metrics.size());
}

TEST_CASE("An export file appears complete or not at all") {
  const SolverSample solver;
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("culprit-export-" + std::to_string(::getpid()));
  CHECK(run(solver.sample, {"export", "collapsed", "-o", path.string()}).empty());
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  CHECK(text.str() == run(solver.sample, {"export", "collapsed"}));
  std::filesystem::remove(path);
  CHECK_FALSE(std::filesystem::exists(path.string() + ".tmp"));
  CHECK_THROWS_WITH(run(solver.sample, {"export", "csv", "-o", "/nowhere/x.csv"}),
                    Catch::Contains("/nowhere/x.csv") && Catch::Contains("("));
  CHECK_THROWS_AS(run(solver.sample, {"export", "csv", "-o", "/dev/full"}), CommandError);
  CHECK(std::filesystem::exists("/dev/full"));
}

}  // namespace culprit::viewer::testing
