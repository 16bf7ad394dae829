// The words of blame, suspects and info.
#include "viewer-cli/run.hpp"
#include "views/solver_sample.hpp"

#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace culprit::viewer::testing {
namespace {

using database::Balance;
using database::ContextId;
using database::ContextKind;
using views::testing::SampleExperiment;
using views::testing::SolverSample;

/// A rank waits 30 s in a barrier of a balanced loop, and 8 s in MPI_Finalize and 2 s in a lock of main, for
/// which main is blamed.
struct FinalizeSample {
  FinalizeSample() : sample({"REALTIME", "idleness"}) {
    sample.add_location(0, 0, sample.add_role("main"));
    const ContextId main = sample.add(0, {ContextKind::procedure, "main", "a.c", 3});
    const ContextId loop = sample.add(main, {ContextKind::loop, "", "a.c", 7});
    wait(loop, "MPI_Barrier", 30);
    // Nothing is idle within by default; rules of a user's own can make it so (--idle-rules).
    const ContextId init = sample.add(main, {ContextKind::procedure, "MPI_Init", "", 0, "libmpi.so"});
    const ContextId connect = sample.add(init, {ContextKind::procedure, "connect", "", 0, "libmpi.so"});
    wait(connect, "poll", 60);
    wait(main, "pthread_mutex_lock", 2);
    wait(main, "MPI_Finalize", 8);
    sample.finish();
    for (const ContextId balanced : {ContextId{0}, main, loop, connect})
      sample.build().balance[0][balanced] = Balance::balanced;
    sample.build().blame[0] = {
        {main, 10 * kSecond, 0, 0}, {loop, 30 * kSecond, 0, 0}, {connect, 60 * kSecond, 0, 0}};
  }

  void wait(ContextId parent, const std::string& name, std::uint64_t seconds) {
    const ContextId call = sample.add(
        parent, {ContextKind::procedure, name, "", 0, "libmpi.so", database::kFrontier | database::kInWait});
    const ContextId inside =
        sample.add(call, {ContextKind::statement, "", "", 0, "libmpi.so", database::kInWait});
    for (const std::uint32_t metric : {0, 1}) sample.set(inside, metric, 0, seconds * kSecond);
  }

  SampleExperiment sample;
};

/// The shares of blame's rows, in percent, by the seconds beside them.
std::map<double, double> shares_of(const nlohmann::json& rows) {
  std::map<double, double> shares;
  for (const nlohmann::json& row : rows)
    shares[row["idleness_s"].get<double>()] = 100 * row["share"].get<double>();
  return shares;
}

}  // namespace

TEST_CASE("Blame and suspects in words") {
  const SolverSample solver;
  CHECK(run(solver.sample, {"blame"}) == R"(1 710.0 s   100 %  loop at solver.c:412 in cg_iterate  [c8]
    waited: ranks 0-2, 4-6
    main › cg_iterate › loop at solver.c:412
)");
  CHECK(run(solver.sample, {"suspects"}) == R"(1. loop at spmv.c:90 in spmv  [c11]
    41 % more work on ranks 3, 7: 308 s above the mean, explains 1 230 s of the waiting inside the
    loop at solver.c:412 in cg_iterate. Balanced, the run is 154 s shorter; without the extra time,
    up to 205 s. 100 % of the extra time was on a processor (100 % is typical here).
    main › cg_iterate › loop at solver.c:412 › spmv › loop at spmv.c:90
)");
}

TEST_CASE("Shares of blame without start-up are of the waiting outside it, and seconds stay") {
  const FinalizeSample finalize;
  using Shares = std::map<double, double>;
  const auto shares = [&](const std::vector<std::string>& words) {
    return shares_of(nlohmann::json::parse(run(finalize.sample, words)));
  };
  CHECK(shares({"blame", "--format", "json"}) == Shares{{60, 60}, {30, 30}, {10, 10}});
  const Shares without = {{60, 0}, {30, 93.75}, {10, 6.25}};
  CHECK(shares({"blame", "--without-startup", "--format", "json"}) == without);
  const std::string report = run(finalize.sample, {"report", "--without-startup", "--format", "json"});
  CHECK(shares_of(nlohmann::json::parse(report)["blame"]) == without);
  CHECK(run(finalize.sample, {"blame", "--without-startup", "--format", "csv"}).find(",10,0.0625,main") !=
        std::string::npos);
  const std::string text = run(finalize.sample, {"blame", "--without-startup"});
  INFO(text);
  CHECK(text.find("60.00 s          connect") == 0);
  CHECK(text.find("\n30.00 s  93.8 %  loop at a.c:7 in main") != std::string::npos);
  CHECK(text.find("Shares are of the waiting outside MPI_Init and MPI_Finalize; seconds") !=
        std::string::npos);
  CHECK(run(finalize.sample, {"blame"}).find("Shares are") == std::string::npos);
}

TEST_CASE("Of many blamed places the text lists the most important and sums up the rest") {
  SampleExperiment sample({"REALTIME", "idleness", "CPU"});
  sample.add_location(0, 0, sample.add_role("main"));
  const ContextId main = sample.add(0, {ContextKind::procedure, "main", "a.c", 3});
  std::vector<database::BlameRow> rows;
  for (std::uint32_t line = 1; line <= 60; ++line) {
    const ContextId loop = sample.add(main, {ContextKind::loop, "", "a.c", line});
    sample.set(sample.add(loop, {ContextKind::statement, "", "a.c", 100 + line}), 0, 0, kSecond);
    rows.push_back({loop, line * kSecond, 0, 0});
  }
  sample.finish();
  sample.build().blame[0] = rows;
  const auto count = [](const std::string& text, const std::string& what) {
    std::size_t found = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
    return found;
  };
  const std::string text = run(sample, {"blame"});
  INFO(text);
  CHECK(count(text, "[c") == 50);
  CHECK(text.find("loop at a.c:60") < text.find("loop at a.c:59"));
  CHECK(text.find("and 10 rows more, of at most 10.0 s each") != std::string::npos);
  CHECK(count(run(sample, {"blame", "--format", "csv"}), "\n") == 1 + 60);
}

TEST_CASE("info names what was run") {
  const SolverSample solver;
  const std::string text = run(solver.sample, {"info"});
  INFO(text);
  CHECK(text.find("command     /opt/cg/bin/cg -n 512 --tolerance 1e-9\n") == 0);
  CHECK(text.find("start       2027-01-15T08:00:00Z\n") != std::string::npos);
  CHECK(text.find("threads     8: 8 main threads\n") != std::string::npos);
  CHECK(text.find("modules     1 200 000 samples  /opt/cg/bin/cg\n") != std::string::npos);
  CHECK(text.find("no debug information") != std::string::npos);
}

}  // namespace culprit::viewer::testing
