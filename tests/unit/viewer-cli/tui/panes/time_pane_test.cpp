// Ranks over time, by iterations and by seconds.
#include "driven_browser.hpp"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace culprit::viewer::tui::testing {

TEST_CASE("Waiting over time: what is shown is chosen, and the cursor names rank, time, iteration and code") {
  DrivenBrowser driven(100, 30);
  driven.type("7");
  CHECK(contains(driven.line(1), "Iterations that the program marked"));
  driven.type("m");
  CHECK(contains(driven.screen(), "wait-at-nxn"));
  driven.type("waiting\n");
  INFO(driven.screen());
  CHECK(contains(driven.line(1), "Waiting for other ranks, 41.8 s in all"));
  driven.type("l");
  CHECK(contains(driven.screen(), "rank 0, at 500 ms, iterations 0–1: 70 % waiting, in MPI_Allreduce"));
  driven.type("jjj");
  CHECK(contains(driven.screen(), "rank 3, at 500 ms, iterations 0–1: 0 % waiting, in loop at spmv.cpp:88"));
  driven.type("\n");
  CHECK(driven.browser().tab() == "Calls");
  CHECK(contains(driven.selected(), "loop at spmv.cpp:88"));
  driven.type("B>");
  CHECK(contains(driven.line(1), "Time in MPI calls"));
  CHECK(contains(driven.screen(), "rank 3, at 500 ms"));  // the place is kept
  CHECK(contains(driven.line(27), "main › loop at main.cpp:140 › cg::iterate"));
  driven.type("v");
  CHECK(contains(driven.browser().message(), "Only iterations"));
  driven.type("e");
  CHECK(contains(driven.screen(), "The share spent in MPI calls, waiting or not."));
  driven.type("\x1bmwait-at-nxn\ne");
  CHECK(contains(driven.screen(), "for the last rank to enter it"));
  driven.type("\x1b");
  driven.type("0+");
  CHECK(contains(driven.screen(), "time"));
}

TEST_CASE(
    "Where several bins share a column of a map, the cursor goes from column to column, to the most of "
    "each") {
  DrivenBrowser driven(42, 24);  // 31 columns for 40 bins: the fourth one is for the bins at 1.5 and 2 s
  driven.type("7>>");
  (void)driven.screen();
  for (const char* const place : {"at 500 ms", "at 1.00 s", "at 1.50 s", "at 2.50 s"}) {
    driven.type("l");
    INFO(driven.screen());
    CHECK(contains(driven.screen(), place));
  }
  driven.type("h");
  CHECK(contains(driven.screen(), "at 1.50 s"));
  driven.press(Key::end);
  CHECK(contains(driven.screen(), "at 19.5 s"));
}

TEST_CASE("The legend of the map of code takes the lines that it needs, in few columns too") {
  const std::vector<std::string> names = {"read_input",  "cg::iterate",   "cg::spmv",    "cg::dot",
                                          "MPI_Waitall", "MPI_Allreduce", "amr::refine", "MPI_Finalize"};
  DrivenBrowser driven(80, 24, true, [&](database::Example& example) {
    database::TimeMap& map = example.experiment.trace.time_map;
    map.rows.resize(2);
    for (std::uint32_t bin = 0; bin < map.bins; ++bin)
      map.rows[0].contexts[bin] = context_named(example.experiment, names[bin % names.size()]);
  });
  driven.type("7mcode\n");
  const std::string screen = driven.screen();
  INFO(screen);
  for (const std::string& name : names) CHECK(contains(screen, ' ' + name));
  CHECK(contains(screen, "━ critical path"));
}

TEST_CASE("Iterations have seconds below their numbers, and a row that stands for several ranks says so") {
  DrivenBrowser driven(80, 14, true, [](database::Example& example) {
    constexpr std::uint64_t kEach = 800'000'000;
    for (database::Variation::Row& row : example.experiment.trace.variations.front().rows) {
      for (std::size_t at = 0; at < row.sos_ns.size(); ++at) row.begin_ns.push_back(at * kEach);
    }
  });
  driven.type("7");
  INFO(driven.screen());
  const int axis = driven.row_of("iteration  0");
  REQUIRE(axis > 0);
  CHECK(contains(driven.line(axis + 1), "time       0 s"));
  CHECK(contains(driven.line(axis + 1), " 10 s"));
  CHECK(contains(driven.line(axis + 2), "row: most of 2 ranks"));
}

TEST_CASE("Without ranks, a row of the map stands for several threads") {
  DrivenBrowser driven(80, 14, true, [](database::Example& example) { example.experiment.run.ranks = 0; });
  driven.type("7");
  INFO(driven.screen());
  CHECK(contains(driven.screen(), "row: most of 2 threads"));
}

TEST_CASE("Waits of main threads for other threads are no waits for ranks, and no code") {
  DrivenBrowser driven(100, 30, true, [](database::Example& example) {
    database::TimeMap& map = example.experiment.trace.time_map;
    map.rows[0].waits.push_back({database::WaitPattern::omp_barrier, {{2, map.bin_ns * 8 / 10}}});
  });
  driven.type("7mwaiting for threads\n");
  INFO(driven.screen());
  CHECK(contains(driven.line(1), "Waiting for other threads of the process, 400 ms in all"));
  driven.type("ll");
  CHECK(contains(driven.screen(), "80 % waiting for threads, in "));
  driven.type("<");
  CHECK(contains(driven.line(1), "Waiting for other ranks, 41.8 s in all"));
  driven.type("mcode\n");
  CHECK(contains(driven.screen(), "rank 0, at 1.00 s: waiting for threads"));
}

TEST_CASE(
    "What the program did not mark, of a procedure that others call, is called an invocation, everywhere") {
  DrivenBrowser driven(100, 40, true, [](database::Example& example) {
    database::Variation& variation = example.experiment.trace.variations.front();
    variation.marked = false;
    // Of a loop they are iterations, and of main, which is called once.
    while (example.experiment.contexts[variation.context].kind != database::ContextKind::procedure)
      ++variation.context;
  });
  INFO(driven.screen());
  CHECK(contains(driven.screen(), "1 invocation far longer than the median, on rank 5"));
  driven.type("7");
  CHECK(contains(driven.line(1), "Invocations of "));
  driven.type(">>l");
  CHECK(contains(driven.screen(), "rank 0, at 500 ms, invocations 0–1: 70 % waiting"));
  driven.type("m");
  CHECK(contains(driven.screen(), "invocations above the median"));
  driven.type(
      "\x1b"
      "8hhh");
  INFO(driven.screen());
  CHECK(contains(driven.screen(), "rank 5, invocation 11"));
  for (const char* const tab : {"1", "7", "8"}) {
    driven.type(tab);
    CHECK_FALSE(contains(driven.screen(), "teration "));
  }
}

TEST_CASE("Where threads are compared, rows are threads, and nothing is of ranks or MPI") {
  DrivenBrowser driven(100, 30, true, [](database::Example& example) { example.experiment.run.ranks = 0; });
  driven.type("7m");
  INFO(driven.screen());
  CHECK_FALSE(contains(driven.screen(), "in MPI calls"));
  driven.type("code\n");
  CHECK(contains(driven.line(1), "Where each thread spent most of its time"));
  CHECK(contains(driven.screen(), "thread 0, at 0 s"));
}

TEST_CASE("The axis of time has round numbers between its ends, also where it is zoomed") {
  DrivenBrowser driven(120, 30);
  driven.type("7");
  const std::string gap(18, ' ');
  CHECK(contains(driven.screen(),
                 "iteration  0 " + gap + "5 " + gap + "10" + gap + "15" + gap + "20            23"));
  driven.type(">>");
  INFO(driven.screen());
  CHECK(contains(driven.screen(), "10 s"));
  CHECK(contains(driven.screen(), "19.5 s"));
  driven.type("G++");
  const int row = driven.row_of("time  ");
  REQUIRE(row > 0);
  CHECK_FALSE(contains(driven.line(row), " 0 s"));
  CHECK(contains(driven.line(row), "19.5 s"));
}

TEST_CASE("A rank has one bar of several lines, of the mean of what shares a column") {
  DrivenBrowser driven(120, 30);
  driven.type("7");
  const int longest = driven.row_of("rank 5");  // the name stands beside the top of its bars
  INFO(driven.screen());
  CHECK(contains(driven.line(longest), "▇▇▇▇"));
  CHECK_FALSE(contains(driven.line(longest), "▅"));
  CHECK(contains(driven.line(longest + 1), "▅▅▅▅████▅▅▅▅"));
  CHECK_FALSE(contains(driven.line(driven.row_of("rank 4")), "▅"));
  CHECK(contains(driven.line(driven.row_of("rank 6") + 1), "▅▅▅▅"));
  // Bins of 350 and of 0 of 500 ms in one column: 35 %.
  DrivenBrowser narrow(42, 24);
  narrow.type("7>>");
  INFO(narrow.screen());
  CHECK(contains(narrow.line(narrow.row_of("rank 0") + 1), "▅"));
  CHECK(contains(narrow.screen(), "iteration  0"));
  DrivenBrowser wide(100, 24);
  wide.type("7>>");
  CHECK(contains(wide.screen(), "one column ≈ 250 ms"));
}

}  // namespace culprit::viewer::tui::testing
