// The way from the first screen to the culprit, and what concerns all panes.
#include "driven_browser.hpp"
#include "tui/pages/finding_pages.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <catch2/catch.hpp>
#include <unistd.h>

namespace culprit::viewer::tui::testing {

TEST_CASE("The start screen is the diagnosis, and Enter goes to what it names") {
  DrivenBrowser driven;
  const std::string screen = driven.screen();
  INFO(screen);
  CHECK(contains(screen, "17.0 % of the run is spent waiting"));
  CHECK(contains(screen, "suspect loop at spmv.cpp:88 in cg::spmv"));
  CHECK(contains(screen, "41 % more work on ranks 3, 7"));
  CHECK(contains(driven.selected(), "loop at solver.cpp:412 in cg::iterate"));
  driven.type("j");
  CHECK(contains(driven.selected(), "suspect loop at spmv.cpp:88"));
  driven.type("\n");
  CHECK(driven.browser().tab() == "Calls");
  CHECK(contains(driven.selected(), "loop at spmv.cpp:88"));
  driven.type("B");
  CHECK(driven.browser().tab() == "Start");
}

TEST_CASE("From a wait one key leads to the balanced code that is blamed, one more to the suspect") {
  DrivenBrowser driven;
  driven.browser().go(
      {Target::Kind::context, context_named(driven.experiment(), "MPI_Allreduce"), {}, -1, 0, 0, {}});
  CHECK(contains(driven.selected(), "MPI_Allreduce"));
  driven.type("b");
  CHECK(contains(driven.selected(), "loop at solver.cpp:412"));
  CHECK(contains(driven.browser().message(), "innermost balanced code around the wait"));
  driven.type("b");
  CHECK(contains(driven.selected(), "loop at spmv.cpp:88"));
  CHECK(contains(driven.browser().message(), "ranks 3, 7 work more than the others"));
}

TEST_CASE("Every tab is reached by its number and by Tab") {
  DrivenBrowser driven;
  const std::vector<std::string> names = {"Start",  "Calls", "Callers", "Flat",
                                          "Source", "Ranks", "Time",    "Findings"};
  for (std::size_t tab = 0; tab < names.size(); ++tab) {
    driven.type(std::to_string(tab + 1));
    CHECK(driven.browser().tab() == names[tab]);
  }
  driven.type("1\t");
  CHECK(driven.browser().tab() == "Calls");
  driven.press(Key::back_tab);
  CHECK(driven.browser().tab() == "Start");
  driven.click(0, 24);
  CHECK(driven.browser().tab() == "Callers");
}

TEST_CASE("Findings name what they found and lead there") {
  DrivenBrowser driven;
  driven.type("8");
  CHECK(contains(driven.screen(), "[Blame]"));
  driven.type("ll");
  CHECK(contains(driven.screen(), "wait-at-nxn  ranks 0-2, 4-6, at most 4.20 s each, for rank 3"));
  CHECK(contains(driven.screen(), "m by rank"));
  driven.type("m");
  CHECK(contains(driven.screen(), "wait-at-nxn  rank 0, for rank 3"));
  CHECK(contains(driven.screen(), "m together"));
  driven.type("m");
  CHECK_FALSE(contains(driven.screen(), "wait-at-nxn  rank 0, for rank 3"));
  driven.type("e");
  CHECK(contains(driven.screen(), "for the last rank to enter it"));
  driven.type(
      "\x1b"
      "l");
  CHECK(contains(driven.screen(), "ranks 3, 7, most on 3 (21.5 s); 1.50 s of it indirectly"));
  driven.type("l");
  CHECK(contains(driven.screen(), "14.0 s  70 %"));
  driven.type("ll");
  CHECK(contains(driven.screen(), "rank 5, iteration 11"));
  driven.type("j\n");
  CHECK(driven.browser().tab() == "Time");
  CHECK(contains(driven.screen(), "rank 5, iteration 11: 1.90 s (+217 %), unusually long"));
  driven.type("\n");
  CHECK(contains(driven.selected(), "loop at spmv.cpp:88"));
  driven.type("8l");
  CHECK(contains(driven.screen(), "parallel efficiency"));
}

TEST_CASE("Columns are chosen, defined by a formula, and sorted by") {
  DrivenBrowser driven;
  driven.type("2>>");
  CHECK(contains(driven.line(1), "▼wait s"));
  driven.type("%");
  CHECK(contains(driven.line(1), "▼wait %"));
  driven.type("%");
  driven.workspace().columns().define("share=$idleness/$REALTIME");
  driven.browser().figures_changed();
  CHECK(contains(driven.line(1), "share"));
  driven.type("dnonsense\n");
  CHECK(contains(driven.browser().message(), "no '='"));
}

TEST_CASE("Only some ranks, only some threads") {
  DrivenBrowser driven;
  driven.type("2");
  const std::string all = driven.line(2);
  driven.type("R3,7\n");
  CHECK(contains(driven.line(1), "ranks 3,7"));
  CHECK(driven.line(2) != all);
  driven.type("R");
  for (int back = 0; back < 3; ++back) driven.press(Key::backspace);
  driven.type("99\n");
  CHECK(contains(driven.browser().message(), "no rank 99 was measured"));
  CHECK(contains(driven.line(1), "ranks 3,7"));
  driven.type("R\b\b\b\n");
  CHECK_FALSE(contains(driven.line(1), "ranks 3,7"));
  CHECK(driven.line(2) == all);
}

TEST_CASE("Help, and a key that means nothing") {
  DrivenBrowser driven;
  driven.type("?");
  CHECK(contains(driven.screen(), "go to another tab"));
  driven.type("q");
  CHECK_FALSE(driven.browser().finished());
  driven.type("Y");
  CHECK(contains(driven.browser().message(), "means nothing here"));
  driven.type("q");
  CHECK(driven.browser().finished());
}

TEST_CASE("Without UTF-8 every screen is plain ASCII") {
  DrivenBrowser driven(80, 24, false);
  driven.type("2*");
  for (int tab = 1; tab <= 8; ++tab) {
    driven.type(std::to_string(tab));
    const std::string screen = driven.screen();
    INFO(screen);
    CHECK(std::all_of(screen.begin(), screen.end(),
                      [](char letter) { return static_cast<unsigned char>(letter) < 0x80; }));
  }
}

TEST_CASE("Any size is drawn, and none too small crashes") {
  for (const auto& [width, height] : {std::pair{1, 1}, {20, 5}, {40, 10}, {200, 60}, {500, 12}, {41, 200}}) {
    DrivenBrowser driven(width, height);
    for (const char* const keys : {"1", "2*", "3", "4", "5", "6m", "m", "7", "8", "?"}) {
      driven.type(keys);
      CHECK_FALSE(driven.screen().empty());
    }
  }
}

TEST_CASE("At 4 096 ranks the first screen of each list tells the story") {
  DrivenBrowser driven(80, 24, true, [](database::Example& example) { spread_over_mesh(example, 64); });
  driven.type("8ll");
  const std::string waits = driven.screen();
  INFO(waits);
  CHECK(contains(waits, "ranks 0-16, 18-4095, at most 3.00 s each, for rank 17"));
  CHECK(contains(waits, "ranks 0-4095, "));
  CHECK(contains(waits, "ranks 0-4094:2"));
  CHECK(contains(waits, " ranks (0, "));
  CHECK(contains(waits, "75 % indirect"));
  driven.type("l");
  CHECK(contains(driven.screen(), "rank 17; 400 ms of it indirectly"));
  driven.type("ll");
  CHECK(contains(driven.screen(), "rank 17 made ranks 0-16, 18-4095 wait"));
}

TEST_CASE("That no part of a place does more work is said of the first in full, of the others shortly") {
  DrivenBrowser driven(100, 40, true,
                       [](database::Example& example) { example.experiment.suspects.clear(); });
  const std::string screen = driven.screen();
  INFO(screen);
  const std::size_t reported = screen.find("waited for rank 3: see `causes`");
  REQUIRE(reported != std::string::npos);
  CHECK(screen.find("lastingly", reported + 30) == std::string::npos);
  CHECK(contains(screen.substr(reported), "No thread is consistently slower here either."));
}

TEST_CASE("The start page has the saving of a replay, as the report has it") {
  DrivenBrowser driven;
  Findings findings = driven.findings();
  const std::vector<Charged> suspects =
      suspects_below(driven.workspace().experiment(), findings.diagnosis.blamed.front());
  REQUIRE_FALSE(suspects.empty());
  SuspectGroup group;
  for (const Charged& each : suspects) group.push_back(each.suspect);
  const auto text_of = [&] {
    std::string text;
    for (const PageLine& line : start_page(driven.workspace(), findings, 100).lines) {
      for (const Span& span : line.spans) text += span.text;
      text += '\n';
    }
    return text;
  };
  CHECK(contains(text_of(), "it would save about 15 % of the run time."));
  findings.replayed[group] = {.ns = 4'000'000'000};
  CHECK(contains(text_of(), "(4.00 s, by a replay of the time lines)."));
}

TEST_CASE("Code whose name does not fit on the start page lacks its place, not a part of its name") {
  const std::string before = "made others wait most: loop at spmv.cpp:88";
  DrivenBrowser wide(80, 40), narrow(70, 40);
  CHECK(contains(wide.screen(), before + " in cg::spmv on ranks 3, 7 "));
  CHECK(contains(narrow.screen(), before + " on ranks 3, 7 "));
  DrivenBrowser many(74, 40, true, [](database::Example& example) {
    spread_over_mesh(example, 16);
    auto& causes = example.experiment.trace.causes;
    const database::Cause first = causes.front();
    for (const std::uint32_t location : {2, 4, 10, 14, 24, 40, 66, 94, 160, 202}) {
      causes.push_back(first);
      causes.back().location = location;
    }
  });
  const std::string line = many.line(many.row_of("made others wait most"));
  INFO(line);
  CHECK(contains(line, before + " on "));
  CHECK_FALSE(contains(line, "..."));  // of a list of ranks
}

TEST_CASE("The start page calls iterations far longer only where they are, as the report does") {
  const auto longest = [](std::uint64_t percent) {
    return [percent](database::Example& example) {
      database::Variation& variation = example.experiment.trace.variations.front();
      variation.outliers.front().sos_ns = variation.median_ns * percent / 100;
    };
  };
  DrivenBrowser longer(100, 40, true, longest(140)), hardly(100, 40, true, longest(101));
  INFO(longer.screen());
  CHECK(contains(longer.screen(), "1 iteration longer than the median, on rank 5"));
  CHECK_FALSE(contains(hardly.screen(), "than the median"));
}

TEST_CASE("y gives the call path under the cursor for the clipboard") {
  DrivenBrowser driven;
  driven.type("2y");
  CHECK(driven.browser().take_copied() == "<run>");
  driven.type("/allred\ny");
  CHECK(driven.browser().take_copied().value_or("") ==
        "main/loop at main.cpp:140/cg::iterate/loop at solver.cpp:412/cg::dot/MPI_Allreduce");
  CHECK(contains(driven.browser().message(), "cg::dot/MPI_Allreduce"));
  CHECK_FALSE(driven.browser().take_copied());
  driven.type("7y");
  CHECK(driven.browser().take_copied().value_or("") == "main/loop at main.cpp:140");
}

TEST_CASE("Of a run that is starved the start page says once what it lacked") {
  DrivenBrowser driven(80, 50, true, [](database::Example& example) {
    constexpr std::uint64_t kSecond = 1'000'000'000;
    database::Experiment& e = example.experiment;
    e.machine.threads.clear();
    e.machine.suspects = {{.kind = database::MachineKind::oversubscribed,
                           .by_others = true,
                           .processors = 2,
                           .others = 1600,
                           .lost_ns = 30 * kSecond,
                           .explains_ns = 20 * kSecond}};
    for (std::uint32_t location = 0; location < e.locations.size(); ++location) {
      if (e.locations[location].role != 0) continue;
      e.machine.suspects.front().locations.push_back(location);
      e.machine.threads.push_back({.location = location,
                                   .ran_ns = 5 * kSecond,
                                   .runnable_ns = 15 * kSecond,
                                   .lived_ns = 20 * kSecond,
                                   .sampled_ns = 20 * kSecond,
                                   .idle_ns = 3 * kSecond,
                                   .cpu_ns = 5 * kSecond,
                                   .work_ns = 17 * kSecond,
                                   .work_cpu_ns = 5 * kSecond});
    }
  });
  const std::string screen = driven.screen();
  INFO(screen);
  CHECK(contains(screen, "Starved of processors: ranks 0-7 on hosts node1 and node2 were ready"));
  CHECK(contains(screen, "programs that were not measured take processors from"));
  CHECK(contains(screen, "Measure again where nothing"));
  CHECK_FALSE(contains(screen, "ready to run, without a processor"));
  // What matters fits a small screen: neither what code could save nor all of the data's quality.
  CHECK(contains(screen, "suspect "));
  CHECK_FALSE(contains(screen, "Balanced, "));
  CHECK_FALSE(contains(screen, "It is "));
  CHECK(contains(screen, "Measured: "));
  CHECK_FALSE(contains(screen, "none dropped"));
}

TEST_CASE("w writes the screen to a file that did not exist, and to nothing else") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("written-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  DrivenBrowser driven;
  driven.type("2");
  const std::string screen = driven.screen();
  const auto write_to = [&](const std::string& name) {
    driven.type("w\x15" + (folder / name).string() + "\n");
  };
  write_to("calls.txt");
  CHECK(contains(driven.browser().message(), "Written to"));
  const auto read = [&](const std::string& name) {
    std::ifstream file(folder / name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  CHECK(read("calls.txt") == screen.substr(0, screen.rfind('\n', screen.size() - 2) + 1));
  write_to("calls.txt");
  CHECK(contains(driven.browser().message(), "exists already"));
  driven.type("8");  // the table, where there is one
  write_to("blame.csv");
  CHECK(read("blame.csv").starts_with("id,path,idleness_s,share,role,waiter_ranks\n"));
  driven.type("lllllll");
  write_to("efficiency.csv");
  CHECK(read("efficiency.csv").starts_with("level,name,path,figure,value\n"));
  driven.type("2");
  write_to("calls.csv");
  CHECK(read("calls.csv").starts_with("id,parent,depth,kind,name,file,line,module,REALTIME:sum (I),"));
  driven.type("6");
  write_to("ranks.csv");
  CHECK(read("ranks.csv").starts_with("rank,thread,role,process,REALTIME:sum (I)\n0,0,main,"));
  driven.type("7");
  write_to("iterations.csv");
  CHECK(read("iterations.csv").starts_with("rank,iteration,"));
  driven.type("1");  // text alone
  write_to("start.csv");
  CHECK(driven.browser().message() == "This screen is no table: give the file another ending than .csv");
  CHECK_FALSE(std::filesystem::exists(folder / "start.csv"));
  std::filesystem::create_symlink(folder / "elsewhere", folder / "link");
  write_to("link");
  CHECK(contains(driven.browser().message(), "exists already"));
  CHECK_FALSE(std::filesystem::exists(folder / "elsewhere"));
  write_to("no/folder");
  CHECK(contains(driven.browser().message(), "No such file"));
  std::filesystem::remove_all(folder);
}

TEST_CASE("A menu lists what contains the letters that are typed") {
  DrivenBrowser driven(100, 24);
  driven.type("cstddev");
  const std::string screen = driven.screen();
  INFO(screen);
  CHECK(contains(screen, "idleness:stddev (I)"));
  CHECK_FALSE(contains(screen, "idleness:sum (I)"));
  driven.type(" \n");  // the first one
  CHECK(driven.workspace().columns().names().back() == "REALTIME:stddev (I)");
  driven.type("cxyz");
  CHECK(contains(driven.screen(), "nothing contains it"));
  driven.type("\x1b");
  CHECK(contains(driven.screen(), "idleness:sum (I)"));
  driven.type("\x1b");
  CHECK_FALSE(contains(driven.screen(), "Columns:"));
}

TEST_CASE("Remarks of a menu that are cut stand below it as a whole") {
  DrivenBrowser driven(80, 24);
  driven.type("c");
  CHECK(contains(driven.line(driven.row_of("idleness:sum (I)")), "communi…"));
  const std::string whole = "Time inside blocking communication or another wait, moving no data";
  CHECK_FALSE(contains(driven.screen(), whole));
  driven.type("jj");
  INFO(driven.screen());
  CHECK(contains(driven.screen(), whole));
  DrivenBrowser wide(200, 60);
  wide.type("c");
  CHECK_FALSE(contains(wide.line(wide.row_of("REALTIME:sum (I)")), "…"));
}

TEST_CASE("Pages and sources are searched by regular expressions, too") {
  DrivenBrowser driven;
  CHECK(contains(driven.screen(), "WHAT MAKES THEM WAIT"));
  driven.type("/longest on the.*SPMV\n");
  CHECK(contains(driven.screen(), "Nothing matches 'longest on the.*SPMV'"));
  driven.type("/longest on the.*spmv\n");
  CHECK(contains(driven.selected(), "longest on the critical path"));
  driven.type("/suspect (loop\n");
  CHECK(contains(driven.screen(), "is no regular expression"));

  driven.type("/suspect loop\n\ns/row_product[(]\n");
  CHECK(contains(driven.selected(), "y[row] = row_product(matrix[row], x);"));
  driven.type("/[0-9\n");
  CHECK(contains(driven.screen(), "is no regular expression"));
}

}  // namespace culprit::viewer::tui::testing
