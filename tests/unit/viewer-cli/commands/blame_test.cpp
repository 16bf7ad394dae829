// The words of blame, suspects and info.
#include "viewer-cli/run.hpp"
#include "views/solver_sample.hpp"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace culprit::viewer::testing {
namespace {

using database::ContextId;
using database::ContextKind;
using views::testing::SampleExperiment;
using views::testing::SolverSample;

}  // namespace

TEST_CASE("Blame and suspects in words") {
  const SolverSample solver;
  CHECK(run(solver.sample, {"blame"}) == R"(1 710.0 s  100.0 %  loop at solver.c:412 in cg_iterate  [c8]
    waited: ranks 0-2, 4-6
    main › cg_iterate › loop at solver.c:412
)");
  CHECK(run(solver.sample, {"suspects"}) == R"(1. loop at spmv.c:90 in spmv  [c11]
    41 % more work on ranks 3, 7: 308 s above the others' average, explains 1 230 s of the waiting
    inside the loop at solver.c:412 in cg_iterate. Balanced, the run is 154 s shorter; without the
    extra time, up to 205 s. 100 % of the extra time was on a processor (100 % is typical here).
    main › cg_iterate › loop at solver.c:412 › spmv › loop at spmv.c:90
)");
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
  CHECK(text.find("and 10 further places with 55") != std::string::npos);
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
