#include "findings/diagnosis.hpp"

#include "views/solver_sample.hpp"

#include <string>

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

}  // namespace culprit::viewer::testing::diagnosis_test
