// Values over ranks and threads, as a graph and as groups of threads alike.
#include "driven_browser.hpp"
#include "tui/panes/per_rank.hpp"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace culprit::viewer::tui::testing {

TEST_CASE("The graph shows a node over the ranks, several together, sorted and as a histogram") {
  DrivenBrowser driven;
  driven.browser().go({Target::Kind::context, loop_at(driven.experiment(), 88), {}, -1, 0, 0, {}});
  driven.type("r");
  CHECK(contains(driven.screen(), "by rank, 8 threads"));
  driven.type("lll");
  CHECK(contains(driven.screen(), "rank 3: 14.1"));
  CHECK(contains(driven.screen(), "(28 % above the mean)"));
  driven.type("m");
  CHECK(contains(driven.screen(), "sorted"));
  driven.type("m");
  CHECK(contains(driven.screen(), "histogram"));
  // Work and waiting are each other's complement.
  driven.type("2m");
  driven.browser().go(
      {Target::Kind::context, context_named(driven.experiment(), "MPI_Allreduce"), {}, -1, 0, 0, {}});
  driven.type("mrm");
  const std::string both = driven.screen();
  INFO(both);
  CHECK(contains(both, "loop at spmv.cpp:88"));
  CHECK(contains(both, "MPI_Allreduce"));
  driven.type("x");
  CHECK(driven.workspace().marked.empty());
}

TEST_CASE("Beside a tree stand the values of a whole load module too, inclusive and exclusive") {
  DrivenBrowser driven(200, 60);
  driven.type("4UU");
  CHECK(contains(driven.screen(), "REALTIME:sum (I), by rank, 8 threads"));
  driven.type(">");
  CHECK(contains(driven.screen(), "REALTIME:sum (E), by rank, 8 threads"));
}

TEST_CASE("Where none of the chosen threads was at a node, the graph says so") {
  for (const bool chosen_first : {false, true}) {
    DrivenBrowser driven;
    driven.browser().go(
        {Target::Kind::context, context_named(driven.experiment(), "read_input"), {}, -1, 0, 0, {}});
    driven.type(chosen_first ? "Tjj\nr" : "rTjj\n");
    CHECK(contains(driven.screen(),
                   "None of the OpenMP worker threads has REALTIME:sum (I) here (T: others)."));
    driven.type("Tkk\n");
    CHECK(contains(driven.screen(), "by rank, 8 threads"));
  }
}

TEST_CASE("Beside a tree that is said as a whole, too") {
  DrivenBrowser driven(120, 40);
  driven.browser().go(
      {Target::Kind::context, context_named(driven.experiment(), "read_input"), {}, -1, 0, 0, {}});
  driven.type("Tjj\n");
  CHECK(contains(driven.screen(), "None of the OpenMP worker threads has"));
  CHECK(contains(driven.screen(), "(T: others)."));
}

TEST_CASE("The graph begins with the role that has several threads where the busiest has one") {
  DrivenBrowser driven(120, 40, true, [](database::Example& example) {
    database::Experiment& e = example.experiment;
    for (std::size_t location = 1; location < e.locations.size(); ++location) e.locations[location].role = 1;
    e.roles[0].threads = 1;
    e.roles[1].threads = static_cast<std::uint32_t>(e.locations.size() - 1);
    for (std::vector<database::Value>& values : example.contexts) {
      for (database::Value& value : values) value.value *= value.index == 0 ? 100 : 1;
    }
  });
  driven.type("r");
  const std::string screen = driven.screen();
  INFO(screen);
  CHECK(contains(screen, "by rank, 11 threads"));
  CHECK(contains(screen, "not shown (T): main threads, mean"));
  driven.type("Tj\n");
  CHECK(contains(driven.screen(), "by rank, 1 thread"));
}

TEST_CASE("Without ranks, threads are drawn by thread") {
  DrivenBrowser driven(100, 24, true, [](database::Example& example) { example.experiment.run.ranks = 0; });
  driven.type("r");
  CHECK(contains(driven.screen(), "by thread, 8 threads"));
  driven.type("m");
  CHECK(contains(driven.screen(), "procedures, by thread"));
}

TEST_CASE("Nodes drawn together have values of the same threads") {
  DrivenBrowser driven(120, 40);
  driven.browser().go({Target::Kind::context, loop_at(driven.experiment(), 88), {}, -1, 0, 0, {}});
  driven.type("m/gomp_thread_start\nmr");
  INFO(driven.screen());
  CHECK(contains(driven.screen(), "by rank, 8 threads"));
  CHECK(contains(driven.line(3), "max 0 s"));  // main threads are not there
}

TEST_CASE("Where ranks share a column, the bar is their mean and a mark their largest") {
  const auto spread = [](database::Example& example) {
    spread_over_mesh(example, 16);
    const database::ContextId code = context_named(example.experiment, "read_input");
    const auto others = [&](std::size_t location) {
      return example.experiment.locations[location].rank % 4 != 0;
    };
    for (database::ContextId at = code; at < example.experiment.contexts[code].end; ++at) {
      for (database::Value& value : example.contexts[at]) value.value *= others(value.index) ? 0 : 1;
      for (std::size_t location = 0; location < example.profiles.size(); ++location) {
        for (database::Value& value : example.profiles[location])
          value.value *= value.index == at && others(location) ? 0 : 1;
      }
    }
  };
  const auto show = [](DrivenBrowser& of) {
    of.browser().go({Target::Kind::context, context_named(of.experiment(), "read_input"), {}, -1, 0, 0, {}});
    of.type("r");
  };
  DrivenBrowser driven(80, 24, true, spread), narrow(60, 24, true, spread);
  show(driven);
  show(narrow);
  CHECK(contains(narrow.screen(), "256 threads  █ mean, ─ max\n"));  // nothing is cut
  const std::string screen = driven.screen();
  INFO(screen);
  CHECK(contains(screen, "256 threads  a column: █ mean, ─ max"));
  driven.type("mmm");
  CHECK(contains(driven.screen(), "own time and MPI calls, most of 6 ranks"));
  driven.type("m");
  CHECK(contains(driven.line(4), "──────────"));  // most columns hold such a rank
  CHECK_FALSE(contains(driven.line(4), "█"));
  CHECK_FALSE(contains(driven.line(10), "█"));
  CHECK(contains(driven.line(driven.row_of("0 ms └") - 1), "██████████"));
}

TEST_CASE("Beside the graph stand procedures over the threads of its role, that with most first") {
  DrivenBrowser driven(120, 40);
  driven.type("r");
  INFO(driven.screen());
  const int title = driven.row_of("own time of procedures and MPI calls over ranks");
  REQUIRE(title > 0);
  CHECK(contains(driven.line(title + 1), "cg::spmv"));
  CHECK(contains(driven.line(title + 2), "MPI_Allreduce"));
  CHECK(contains(driven.line(title + 3), "amr::refine"));
  driven.type("Tjj\n");  // the other role's threads: they are fewer
  CHECK(contains(driven.screen(), "by rank, 4 threads"));
  CHECK_FALSE(contains(driven.screen(), "MPI_Allreduce"));
}

TEST_CASE("Threads with about the same value are one group, those with most first") {
  const std::vector<AlikeThreads> groups = group_alike({0, 605, 1, 0, 300, 2});
  REQUIRE(groups.size() == 3);
  CHECK(groups[0].threads == std::vector<std::size_t>{1});
  CHECK(groups[1].threads == std::vector<std::size_t>{4});
  CHECK(groups[2].threads == std::vector<std::size_t>{0, 2, 3, 5});
  CHECK(groups[2].largest == 2);
  CHECK(group_alike({10, 10.2, 9.9}).size() == 1);
  CHECK(group_alike({0, 0}).size() == 1);
  CHECK(group_alike({}).empty());
}

TEST_CASE("Over many ranks the one that stands out is named at its bar, and the others are one group") {
  for (const bool unicode : {true, false}) {
    DrivenBrowser driven(80, 24, unicode, [](database::Example& example) {
      const database::ContextId code = context_named(example.experiment, "read_input");
      const auto inside = [&](std::uint32_t context) {
        return context >= code && context < example.experiment.contexts[code].end;
      };
      for (std::size_t location = 1; location < example.profiles.size(); ++location) {
        for (database::Value& value : example.profiles[location]) {
          if (inside(value.index)) value.value /= 1000;
        }
      }
      for (database::ContextId at = code; inside(at); ++at) {
        for (database::Value& value : example.contexts[at]) value.value /= value.index == 0 ? 1 : 1000;
      }
      spread_over_mesh(example, 8);
    });
    driven.browser().go(
        {Target::Kind::context, context_named(driven.experiment(), "read_input"), {}, -1, 0, 0, {}});
    driven.type("r");
    const std::string screen = driven.screen();
    INFO(screen);
    CHECK(contains(screen, "rank 0: 600.0 ms, " + std::string(unicode ? "60 × mean" : "60 x mean")));
    CHECK(contains(screen, "ranks 1-63: 0.6 ms"));
    CHECK(contains(
        screen, (unicode ? "█ rank 0  " : "# rank 0  ") + std::string(unicode ? "60 × mean" : "60 x mean")));
  }
}

TEST_CASE("Nodes drawn together have marks of their own, also without colours") {
  for (const bool unicode : {true, false}) {
    DrivenBrowser driven(100, 30, unicode);
    driven.browser().go({Target::Kind::context, loop_at(driven.experiment(), 88), {}, -1, 0, 0, {}});
    driven.type("m");
    driven.browser().go(
        {Target::Kind::context, context_named(driven.experiment(), "MPI_Allreduce"), {}, -1, 0, 0, {}});
    driven.type("mr");
    const std::string screen = driven.screen();
    INFO(screen);
    const auto count = [&](const std::string& sign) {
      std::size_t number = 0;
      for (std::size_t at = screen.find(sign); at != std::string::npos; at = screen.find(sign, at + 1))
        ++number;
      return number;
    };
    // One in the legend and one for each of the eight ranks.
    CHECK(count(unicode ? "●" : "*") >= 8);
    CHECK(count(unicode ? "▲" : "o") >= 8);
  }
}

}  // namespace culprit::viewer::tui::testing
