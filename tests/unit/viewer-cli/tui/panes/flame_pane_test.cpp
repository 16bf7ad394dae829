// The flame graph: spans within their parents, zoom, callers, search.
#include "driven_browser.hpp"
#include "tui/panes/flame_layout.hpp"

#include <catch2/catch.hpp>

namespace culprit::viewer::tui::testing {

TEST_CASE("Each frame lies below what calls it, as wide as its share, and none over another") {
  DrivenBrowser driven;
  for (const bool callers : {false, true}) {
    const FlameChoice choice{.callers = callers, .zoomed = {}, .zoomed_wait = false, .width = 100};
    const std::vector<FlameSpan> spans = lay_out_flame(driven.workspace(), choice);
    REQUIRE(spans.size() > 8);
    CHECK(spans.front().end == 100);
    for (std::size_t at = 1; at < spans.size(); ++at) {
      const FlameSpan& span = spans[at];
      const FlameSpan& above = spans[*span.parent];
      INFO(flame_label(driven.workspace(), choice, span));
      CHECK(span.level == above.level + 1);
      CHECK(span.begin >= above.begin);
      CHECK(span.end <= above.end);
      CHECK(span.value <= above.value * 1.000001);
      const double share = span.value / spans.front().value * 100;
      CHECK(span.end - span.begin == Approx(share).margin(above.level + 1.5));
      if (spans[at - 1].level == span.level) CHECK(span.begin >= spans[at - 1].end);
    }
  }
}

TEST_CASE("By callers, procedures are as wide as their own time, and waits as all that they hold") {
  DrivenBrowser driven;
  const FlameChoice choice{.callers = true, .zoomed = {}, .zoomed_wait = false, .width = 100};
  for (const FlameSpan& span : lay_out_flame(driven.workspace(), choice)) {
    const std::string name = flame_label(driven.workspace(), choice, span);
    if (span.level == 1 && name == "cg::spmv") CHECK(span.value == Approx(88.2).margin(0.1));
    if (span.level == 1 && name == "MPI_Allreduce") CHECK(span.value == Approx(25.0).margin(0.1));
    CHECK_FALSE((span.level == 1 && name == "cg::axpy" && span.value > 10));
  }
}

TEST_CASE("The flame graph is walked, zoomed into and left again; source and ranks follow") {
  DrivenBrowser driven;
  driven.type("9");
  CHECK(driven.browser().tab() == "Flame");
  CHECK(contains(driven.screen(), "│cg::spmv"));
  driven.type("jjjjjj");
  CHECK(contains(driven.screen(), "cg::spmv(Matrix const&"));
  CHECK(contains(driven.screen(), "88.2 s, 48.7 % of what is shown"));
  driven.type("l");
  CHECK(contains(driven.screen(), "cg::dot(Vector const&"));
  driven.type("\n");
  CHECK(contains(driven.line(1), "zoomed"));
  CHECK(contains(driven.line(2), "│cg::dot"));
  driven.type("j");
  CHECK(contains(driven.screen(), "67.5 % of what is shown"));
  driven.type("s");
  CHECK(driven.browser().tab() == "Source");
  driven.type("9\b");
  CHECK_FALSE(contains(driven.line(1), "zoomed"));
  CHECK(contains(driven.screen(), "cg::dot(Vector const&"));  // the cursor stays there
  driven.type("y");
  CHECK(contains(driven.browser().take_copied().value_or(""), "cg::dot"));
}

TEST_CASE("The flame graph folds recursion as the trees do, and u unfolds it") {
  DrivenBrowser driven(120, 40);
  driven.type("9/amr::refine\n");
  CHECK(contains(driven.browser().message(), "1 frame matches: 17.6 s"));
  driven.press(Key::escape);
  CHECK(contains(driven.screen(), "recursion folded (u)"));
  driven.type("u/amr::refine\n");
  CHECK(contains(driven.browser().message(), "5 frames match: 17.6 s"));
  driven.type("u");
  CHECK(driven.workspace().passed_over.recursion);
}

TEST_CASE("The flame graph turns to callers, and a search says how much matches") {
  DrivenBrowser driven;
  driven.type("9/allred\n");
  CHECK(contains(driven.browser().message(), "1 frame matches: 25.0 s"));
  driven.type("/nowhere\n");
  CHECK(contains(driven.browser().message(), "Nothing that is shown matches 'nowhere'"));
  driven.type("m");
  CHECK(contains(driven.line(1), "by callers"));
  CHECK(contains(driven.screen(), "│all code, by who calls it"));
  CHECK(contains(driven.screen(), "│MPI_Al"));
}

}  // namespace culprit::viewer::tui::testing
