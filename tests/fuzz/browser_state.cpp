#include "browsed_example.hpp"
#include "tui/browser.hpp"
#include "tui/state/findings.hpp"
#include "tui/state/state_files.hpp"
#include "tui/state/workspace.hpp"
#include "tui/view_state.hpp"
#include "views/derived.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <unistd.h>

// Any bytes are what the browser remembers of a database, and the metrics beside it: it begins as these say,
// as far as they fit, and draws. The first line that is empty parts the two.
namespace {

namespace viewer = culprit::viewer;
namespace tui = culprit::viewer::tui;
namespace fs = std::filesystem;

/// A database in a folder of its own, which is the state's home, too.
struct Example {
  Example() {
    fs::create_directories(folder);
    ::setenv("XDG_STATE_HOME", folder.c_str(), 1);
    culprit::database::write_example(tui::testing::make_browsed_example(), database);
    std::atexit(
        [] { fs::remove_all(fs::temp_directory_path() / ("browsed-" + std::to_string(::getpid()))); });
  }
  fs::path folder = fs::temp_directory_path() / ("browsed-" + std::to_string(::getpid()));
  std::string database = folder / "run.db";
};

void draw(tui::Browser& browser) {
  constexpr int kHeight = 24, kWidth = 80;
  for (int i = 0; i < 2; ++i) {  // the first tells the panes their sizes
    tui::Canvas canvas(kHeight, kWidth);
    browser.draw(canvas);
    while (browser.work()) continue;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Example example;
  static const culprit::views::DatabaseSource source(example.database);
  static tui::FindingsTask findings(source);
  findings.wait();
  const std::string text(data, data + size);
  const std::size_t end = std::min(text.find("\n\n"), text.size());
  tui::write_whole(*tui::state_file(example.database, ".view.json"), text.substr(0, end), example.database);
  tui::write_whole(example.database + ".metrics", text.substr(std::min(end + 2, text.size())),
                   example.database);
  tui::Workspace workspace(source, example.database, true);
  for (const std::string& definition : tui::load_derived_metrics(example.database)) {
    try {
      workspace.columns().define(definition);
    } catch (const culprit::views::BadDefinition&) {
    }
  }
  tui::Browser browser(workspace, findings);
  tui::restore_view(browser.tabs(), workspace);
  draw(browser);
  tui::save_view(browser.tabs(), workspace);
  return 0;
}
