// Source text with its costs, and where it is looked for.
#include "tui/panes/source_pane.hpp"

#include "driven_browser.hpp"

#include <catch2/catch.hpp>

namespace culprit::viewer::tui::testing {

TEST_CASE("Source text comes from the database with costs by line; a missing file is said to be missing") {
  DrivenBrowser driven;
  driven.browser().go({Target::Kind::context, loop_at(driven.experiment(), 88), {}, -1, 0, 0, {}});
  driven.type("s");
  const std::string screen = driven.screen();
  INFO(screen);
  CHECK(contains(screen, "from the database"));
  CHECK(contains(screen, "88 ▶"));
  driven.type("1");
  driven.browser().go({Target::Kind::context, loop_at(driven.experiment(), 412), {}, -1, 0, 0, {}});
  driven.type("s");
  CHECK(contains(driven.screen(), "is neither in the database"));
}

TEST_CASE("Files that nobody knows say which load module they are of; a load module is no file") {
  DrivenBrowser driven;
  driven.type("4U");
  INFO(driven.screen());
  CHECK(contains(driven.screen(), "<unknown file>  lib"));
  driven.type("Us");
  CHECK(contains(driven.screen(), "A load module stands for many files"));
}

TEST_CASE("Places of sources from the command line come before those remembered, and replace them") {
  DrivenBrowser driven;
  SourcePane& source = driven.browser().tabs().source();
  source.set_prefixes({{"/old", "/remembered"}, {"/other", "/kept"}});
  source.put_first({{"/old", "/given"}, {"/new", "/too"}});
  CHECK(source.prefixes() == PathPrefixes{{"/old", "/given"}, {"/new", "/too"}, {"/other", "/kept"}});
}

}  // namespace culprit::viewer::tui::testing
