#include "commands.hpp"
#include "viewer/run.hpp"
#include "views/solver_sample.hpp"

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
