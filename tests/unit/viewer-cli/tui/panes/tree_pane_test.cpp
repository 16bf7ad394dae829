// The trees: opening, searching, filtering, zooming.
#include "driven_browser.hpp"
#include "tui/panes/blame_path.hpp"

#include <catch2/catch.hpp>

namespace culprit::viewer::tui::testing {
namespace {

/// What a row says before the tree, which tells whether it is open.
std::string numbers_of(const std::string& row) {
  return row.substr(0, 40);
}

}  // namespace

TEST_CASE("A tree begins with the hot path open, and what its end consists of; keys of vi open and close") {
  DrivenBrowser driven;
  driven.type("2");
  CHECK(contains(driven.screen(), "▾ loop at spmv.cpp:88"));
  CHECK(contains(driven.selected(), "<run>"));
  driven.type("h");
  CHECK_FALSE(contains(driven.screen(), "<program root>"));
  driven.type("l");
  CHECK(contains(driven.screen(), "<program root>"));
  driven.type("H");
  CHECK(contains(driven.selected(), "loop at spmv.cpp:88"));
  driven.type("gG");
  CHECK(contains(driven.selected(), "<partial>"));
}

TEST_CASE("Searching jumps while the pattern is typed, opens what hides the match, and goes on") {
  DrivenBrowser driven;
  driven.type("2/allred");
  CHECK(contains(driven.selected(), "MPI_Allreduce"));
  driven.type("\n");
  CHECK(contains(driven.selected(), "MPI_Allreduce"));
  driven.type("/iterate\n");
  const std::string first = driven.selected();
  CHECK(contains(first, "cg::iterate"));
  driven.type("n");
  CHECK(contains(driven.selected(), "cg::iterate"));
  CHECK(numbers_of(driven.selected()) != numbers_of(first));
  driven.type("N");
  CHECK(numbers_of(driven.selected()) == numbers_of(first));
  driven.type("/nowhere\n");
  CHECK(contains(driven.browser().message(), "Nothing matches 'nowhere'"));
  driven.type("n");
  CHECK(contains(driven.browser().message(), "Nothing matches 'nowhere'"));
  driven.type("/[\n");
  CHECK(contains(driven.selected(), "cg::iterate"));
}

TEST_CASE("A filter opens the way to what it found") {
  DrivenBrowser driven;
  driven.type("2frefine\n");
  CHECK(contains(driven.screen(), "amr::refine"));
}

TEST_CASE("Giving a search up leads back to where it began") {
  DrivenBrowser driven;
  driven.type("2jj");
  const std::string before = driven.selected();
  driven.type("/spmv");
  CHECK(driven.selected() != before);
  driven.type("\x1b");
  CHECK(driven.selected() == before);
}

TEST_CASE("A filter leaves only paths through what matches") {
  DrivenBrowser driven;
  driven.type("2fhalo\n");
  CHECK(contains(driven.line(1), "filter halo"));
  driven.type("g*");
  const std::string screen = driven.screen();
  INFO(screen);
  CHECK(contains(screen, "cg::halo_exchange"));
  CHECK(contains(screen, "MPI_Waitall"));
  CHECK_FALSE(contains(screen, "spmv"));
  driven.type("f\b\b\b\b\n");
  CHECK(contains(driven.screen(), "spmv"));
}

TEST_CASE("Zooming shows a subtree alone, and back") {
  DrivenBrowser driven;
  driven.type("2/cg::iterate\nz");
  CHECK(contains(driven.line(2), "cg::iterate"));
  CHECK(contains(driven.line(1), "zoomed"));
  driven.type("Z");
  CHECK(contains(driven.line(2), "<run>"));
  CHECK(contains(driven.selected(), "cg::iterate"));
}

TEST_CASE("Small branches are hidden by a threshold") {
  DrivenBrowser driven;
  driven.type("2");
  CHECK(contains(driven.screen(), "read_input"));
  driven.type("t5\n");
  CHECK(contains(driven.line(1), "from 5 %"));
  CHECK_FALSE(contains(driven.screen(), "read_input"));
  driven.type("tx\n");
  CHECK(contains(driven.browser().message(), "no percentage"));
}

TEST_CASE("The flat view begins with procedures and is flattened and unflattened") {
  DrivenBrowser driven;
  driven.type("4");
  CHECK(contains(driven.screen(), "cg::spmv"));
  driven.type("UU");
  CHECK(contains(driven.screen(), "solver"));
  CHECK_FALSE(contains(driven.screen(), "cg::spmv"));
  driven.type("FF");
  CHECK(contains(driven.screen(), "cg::spmv"));
}

TEST_CASE("Callers are opened from callee to caller") {
  DrivenBrowser driven;
  driven.type("3/MPI_Allreduce\nl");
  CHECK(contains(driven.screen(), "← cg::dot"));
}

TEST_CASE("What is left out is shown when asked for") {
  DrivenBrowser driven;
  driven.type("2*");
  CHECK_FALSE(contains(driven.screen(), "spmv.cpp:90"));
  driven.type("o \n2/spmv.cpp:90\n");
  CHECK(contains(driven.selected(), "spmv.cpp:90"));
}

TEST_CASE("A click selects and opens, one on a heading sorts") {
  DrivenBrowser driven;
  driven.type("2");
  const int row = driven.row_of("cg::dot");
  driven.click(row, 40);
  CHECK(contains(driven.selected(), "cg::dot"));
  driven.click(row, 40);
  CHECK(contains(driven.screen(), "MPI_Allreduce"));
  driven.click(1, 25);
  CHECK(contains(driven.line(1), "▼wait"));
}

TEST_CASE("Space turns pages, in help and in trees") {
  DrivenBrowser driven;
  driven.type("? ");
  CHECK(contains(driven.screen(), "more below"));
  CHECK_FALSE(contains(driven.screen(), "EVERYWHERE"));
  driven.type("        ");
  CHECK(contains(driven.screen(), " end "));
  driven.type("q2g ");
  CHECK_FALSE(contains(driven.selected(), "<run>"));
}

namespace {

void without_idleness(database::Example& example) {
  database::Experiment& e = example.experiment;
  for (database::Summary& summary : e.context_summaries) {
    if (e.metrics[summary.metric].name == "idleness") summary.entries.clear();
  }
}

}  // namespace

TEST_CASE("A column in which the run has nothing is not there at first") {
  DrivenBrowser driven(80, 24, true, without_idleness);
  driven.type("2");
  INFO(driven.line(1));
  CHECK_FALSE(contains(driven.line(1), "wait s"));
  CHECK(contains(driven.line(1), "self s"));
}

namespace {

/// MPI calls and read_input, below main, took no time that a sample met.
void without_samples(database::Example& example) {
  database::Experiment& e = example.experiment;
  for (const char* const name : {"MPI_Init", "MPI_Finalize", "read_input"}) {
    const database::ContextId first = context_named(e, name);
    for (database::Summary& summary : e.context_summaries) {
      std::erase_if(summary.entries, [&](const database::SummaryEntry& entry) {
        return entry.scope >= first && entry.scope < e.contexts[first].end;
      });
    }
  }
}

}  // namespace

TEST_CASE("Calls that no sample met share a row, which opens and says so") {
  for (const bool unicode : {true, false}) {
    DrivenBrowser driven(120, 24, unicode, without_samples);
    driven.type("2");
    const int row = driven.row_of("too short to sample");
    INFO(driven.screen());
    REQUIRE(row > 0);
    CHECK(contains(driven.line(row), "MPI_Init, read_input, MPI_Finalize  too short to sample"));
    driven.click(row, 60);
    CHECK(contains(driven.line(22), "no sample fell into them (Enter opens them)"));
    driven.type("\n");
    CHECK(contains(driven.line(row + 2), "read_input"));
    CHECK(contains(driven.line(row + 2), "too short to sample"));
    driven.type("u");
    CHECK(driven.row_of("MPI_Init, read_input") == -1);
  }
}

TEST_CASE("Over ranks, a folded row has the values of all that it folds") {
  DrivenBrowser driven;
  driven.type("2>/amr::refine\n");
  CHECK(contains(driven.selected(), " 16.0 "));
  driven.type("r");
  INFO(driven.screen());
  CHECK(contains(driven.screen(), "mean 2.000 s"));
  driven.type("2ur");
  CHECK(contains(driven.screen(), "mean 400.0 ms"));
}

TEST_CASE("Of contexts that share a row, blame leads on from the suspect") {
  DrivenBrowser driven;
  const database::Suspect suspect = driven.workspace().experiment().suspects().front();
  CHECK(on_blame_path(driven.workspace().experiment(), {0, 1, suspect.suspect}) == suspect.suspect);
  CHECK(on_blame_path(driven.workspace().experiment(), {0, suspect.balanced}) == suspect.balanced);
  CHECK(on_blame_path(driven.workspace().experiment(), {0, 1}) == 0);
}

TEST_CASE("u shows each frame of what is folded, and folds it again") {
  DrivenBrowser driven;
  driven.type("2u");
  CHECK_FALSE(driven.workspace().passed_over.recursion);
  CHECK(contains(driven.browser().message(), "Each frame has its own row"));
  driven.type("u");
  CHECK(driven.workspace().passed_over.library);
}

}  // namespace culprit::viewer::tui::testing
