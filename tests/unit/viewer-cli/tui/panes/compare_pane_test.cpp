// A second run beside the first.
#include "tui/panes/compare_pane.hpp"

#include "driven_browser.hpp"

#include <filesystem>

#include <catch2/catch.hpp>
#include <unistd.h>

namespace culprit::viewer::tui::testing {
namespace {

OtherRun mended_run() {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("mended-" + std::to_string(::getpid()) + ".db");
  database::write_example(make_mended_example(), path);
  auto source = std::make_unique<views::DatabaseSource>(path);
  std::filesystem::remove(path);  // it stays mapped
  return {std::move(source), "mended.db", {}, {}};
}

}  // namespace

TEST_CASE("A comparison begins where most changed, in a tab of its own") {
  DrivenBrowser driven(100, 30);
  CHECK_FALSE(contains(driven.line(0), "Diff"));
  driven.browser().compare(mended_run());
  const std::string screen = driven.screen();
  INFO(screen);
  CHECK(driven.browser().tab() == "Diff");
  CHECK(contains(driven.line(1), "mended.db: 8 ranks"));
  CHECK(contains(driven.line(2), "REALTIME:sum (I) went from"));
  CHECK(contains(driven.selected(), "MPI_Allreduce"));
  CHECK(contains(driven.selected(), "0.20"));
  driven.type("1");
  CHECK(driven.browser().tab() == "Start");
  driven.type("0");
  CHECK(driven.browser().tab() == "Diff");
}

TEST_CASE("Changes are sorted by each column, searched, and lead to the code of the first run") {
  DrivenBrowser driven(100, 30);
  driven.browser().compare(mended_run());
  (void)driven.screen();
  CHECK(contains(driven.line(3), "▼change"));
  CHECK(contains(driven.line(3), "; % of the larger"));
  driven.type(">>");
  CHECK(contains(driven.line(3), "▼before"));
  driven.type("I");
  CHECK(contains(driven.line(3), "▲before"));
  driven.type("I<<");
  driven.type("/spmv\n");
  CHECK(contains(driven.selected(), "spmv"));
  CHECK_FALSE(contains(driven.selected(), "+"));
  driven.type("s");
  CHECK(driven.browser().tab() == "Source");
  CHECK(contains(driven.screen(), "spmv.cpp, from the database"));
  driven.type("B/nowhere\n");
  CHECK(contains(driven.browser().message(), "Nothing matches 'nowhere'"));
}

TEST_CASE("Another metric is compared when it is chosen") {
  DrivenBrowser driven(100, 30);
  driven.browser().compare(mended_run());
  (void)driven.screen();
  driven.type("m");
  CHECK(contains(driven.screen(), "idleness:sum (I)"));
  driven.type("idleness:sum (I)\n");
  CHECK(contains(driven.line(2), "idleness:sum (I) went from"));
  CHECK(contains(driven.selected(), "MPI_Allreduce"));
}

TEST_CASE(
    "A comparison says which run source and ranks are of, how long its list of metrics is, and what its "
    "columns mean") {
  DrivenBrowser driven(100, 40);
  driven.browser().compare(mended_run());
  CHECK(contains(driven.screen(), "before: browsed-"));
  driven.type("e");
  CHECK(contains(driven.screen(), "The change as a share of the whole of that run that costs more."));
  DrivenBrowser low(100, 24);
  low.browser().compare(mended_run());
  (void)low.screen();
  low.type("m");
  INFO(low.screen());
  CHECK(contains(low.screen(), " more below "));
}

TEST_CASE("All tabs stay readable where a second run adds one to eighty columns") {
  DrivenBrowser driven(80, 24);
  driven.browser().compare(mended_run());
  const std::string tabs = driven.line(0);
  INFO(tabs);
  CHECK(contains(tabs, " 1Start 2Calls 3Callers 4Flat 5Source 6Ranks 7Time 8Findings 9Flame 0Diff"));
}

TEST_CASE("D asks for the run to compare with, and says why one cannot be opened") {
  DrivenBrowser driven;
  driven.type("D/nowhere/at/all.db\n");
  CHECK(contains(driven.browser().message(), "/nowhere/at/all.db"));
  CHECK(driven.browser().tab() == "Start");
}

}  // namespace culprit::viewer::tui::testing
