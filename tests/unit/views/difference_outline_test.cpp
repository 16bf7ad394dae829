// A comparison as people open and search it.
#include "views/difference_outline.hpp"

#include "views/difference_search.hpp"
#include "views/sample_experiment.hpp"

#include <cmath>
#include <memory>

#include <catch2/catch.hpp>

namespace culprit::views::testing {
namespace {

using database::ContextId;
using database::ContextKind;
using database::kNone;

/// main calls solve, which works and waits, and write; solve's loop is what changes.
struct Program {
  SampleExperiment sample{{"REALTIME", "idleness"}};

  Program(std::uint64_t work, std::uint64_t wait, std::uint64_t write, const std::string& also) {
    const std::uint32_t role = sample.add_role("main");
    sample.add_location(0, 0, role);
    const ContextId root = sample.add(0, {ContextKind::root, "<program root>", "", 0, ""});
    const ContextId start = procedure(root, "_start", 1, database::kStartUp);
    const ContextId main = procedure(start, "main", 10);
    const ContextId solve = procedure(main, "solve", 20);
    const ContextId loop = sample.add(solve, {ContextKind::loop, "", "app.c", 22, "app"});
    spend(loop, work);
    const ContextId wait_call = procedure(solve, "MPI_Wait", 30, database::kFrontier | database::kInWait);
    spend(procedure(wait_call, "poll_network", 31, database::kInWait), wait);
    spend(procedure(main, "write_result", 40), write);
    if (!also.empty()) spend(procedure(main, also, 50), 3);
    sample.finish();
  }
  ContextId procedure(ContextId parent, const std::string& name, std::uint32_t line, std::uint8_t flags = 0) {
    const ContextId call = sample.add(parent, {ContextKind::call, "", "app.c", line + 100, "app"});
    return sample.add(call, {ContextKind::procedure, name, "app.c", line, "app", flags});
  }
  void spend(ContextId parent, std::uint64_t seconds) {
    const ContextId line = sample.add(parent, {ContextKind::statement, "", "app.c", 99, "app"});
    sample.set(line, 0, 0, seconds * 1'000'000'000);
  }
};

struct Opened {
  Program before{40, 20, 5, "only_before"}, after{10, 21, 6, "quite_another"};
  Figures a{before.sample}, b{after.sample};
  Difference difference{a, find_column(before.sample.experiment(), "REALTIME"), b,
                        find_column(after.sample.experiment(), "REALTIME")};
  DifferenceOutline outline{
      difference, {}, [](const ComparedScope& each) { return std::abs(each.change()); }};

  [[nodiscard]] std::vector<std::string> rows() const {
    std::vector<std::string> names;
    for (const DifferenceOutline::Row& row : outline.rows())
      names.push_back(label(difference.scopes()[row.scope].frame()));
    return names;
  }
  [[nodiscard]] std::uint32_t named(const std::string& name) const {
    for (std::uint32_t scope = 0; scope < difference.scopes().size(); ++scope) {
      if (label(difference.scopes()[scope].frame()) == name) return scope;
    }
    throw std::logic_error("no scope is called " + name);
  }
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE(
    "An outline of changes opens where most changed, start-up frames and the inside of waits left out") {
  Opened opened;
  CHECK(opened.rows() == Names{"<run>"});
  const std::uint32_t end = opened.outline.open_hot_path(0);
  CHECK(label(opened.difference.scopes()[end].frame()) == "loop at app.c:22");
  CHECK(opened.rows() == Names{"<run>", "<program root>", "main", "solve", "loop at app.c:22", "MPI_Wait",
                               "only_before", "quite_another", "write_result"});
  const std::size_t wait = opened.outline.row_of(opened.named("MPI_Wait"));
  CHECK_FALSE(opened.outline.rows()[wait].opens);

  DifferenceOutline all(opened.difference, {.hide_wait_internals = false, .hide_start_up = false},
                        [](const ComparedScope& each) { return each.b; });
  all.open_below(0, 64, 1000);
  CHECK(all.rows().size() == opened.difference.scopes().size());
}

TEST_CASE("What is open stays open when an outline of changes is sorted anew, and closes level by level") {
  Opened opened;
  opened.outline.open_hot_path(0);
  opened.outline.sort_by([](const ComparedScope& each) { return -each.b; });
  CHECK(opened.rows() == Names{"<run>", "<program root>", "main", "only_before", "quite_another",
                               "write_result", "solve", "loop at app.c:22", "MPI_Wait"});
  opened.outline.close(opened.named("solve"));
  CHECK(opened.rows() ==
        Names{"<run>", "<program root>", "main", "only_before", "quite_another", "write_result", "solve"});
  CHECK(opened.outline.row_of(opened.named("MPI_Wait")) == 6);
  opened.outline.close_all();
  CHECK(opened.rows() == Names{"<run>"});
  opened.outline.open(0);  // only children open with it
  CHECK(opened.rows().size() == 7);
}

TEST_CASE("A search among changes finds what is closed, in the order of rows, in both directions") {
  Opened opened;
  DifferenceSearch search(opened.difference, "main|wait|write");
  while (search.step(1)) continue;
  DifferenceOutline& outline = opened.outline;
  Names found;
  for (std::uint32_t at = outline.find(search, kNone, false); at != kNone;
       at = outline.find(search, at, false))
    found.push_back(label(opened.difference.scopes()[at].frame()));
  CHECK(found == Names{"main", "MPI_Wait", "write_result"});
  Names backwards;
  for (std::uint32_t at = outline.find(search, kNone, true); at != kNone; at = outline.find(search, at, true))
    backwards.push_back(label(opened.difference.scopes()[at].frame()));
  CHECK(backwards == Names{"write_result", "MPI_Wait", "main"});
  CHECK(opened.rows() == Names{"<run>"});
  outline.reveal(opened.named("MPI_Wait"));
  CHECK(opened.rows()[outline.row_of(opened.named("MPI_Wait"))] == "MPI_Wait");
  CHECK_THROWS_AS(DifferenceSearch(opened.difference, "main("), BadPattern);
  DifferenceSearch capital(opened.difference, "mpi_wait|Main");
  while (capital.step(100)) continue;
  CHECK(outline.find(capital, kNone, false) == kNone);
}

TEST_CASE("A scope of a comparison is told as the first run's context, unless only the second has it") {
  Opened opened;
  const auto solve = opened.difference.context_in_first(opened.named("solve"));
  REQUIRE(solve);
  const database::Contents& experiment = opened.before.sample.experiment();
  CHECK(experiment.strings[experiment.contexts[*solve].name] == "solve");
  CHECK(experiment.contexts[*solve].kind == ContextKind::procedure);
}

}  // namespace culprit::views::testing
