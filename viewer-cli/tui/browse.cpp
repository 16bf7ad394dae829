#include "tui/browse.hpp"

#include "database/encoding.hpp"
#include "files/at_death.hpp"
#include "tui/browser.hpp"
#include "tui/panes/source_pane.hpp"
#include "tui/state/state_files.hpp"
#include "tui/view_state.hpp"
#include "tui/widgets/background.hpp"
#include "tui/widgets/terminal.hpp"
#include "views/derived.hpp"

#include <csignal>
#include <cstdlib>
#include <optional>

namespace culprit::viewer::tui {
namespace {

constexpr int kIdleMilliseconds = 250;  // how soon a signal that ends us is noticed
constexpr int kForFindings = 20;        // while the findings are being formed

void define_remembered(Workspace& workspace) {
  const std::vector<std::string> shown = workspace.columns().names();
  for (const std::string& definition : load_derived_metrics(workspace.database())) {
    try {
      workspace.columns().define(definition);
    } catch (const views::BadDefinition&) {
      continue;  // of a metric that this database does not have
    }
  }
  workspace.columns().show(shown);  // defined is not yet shown
}

void paint(Terminal& terminal, Browser& browser) {
  Canvas canvas(terminal.height(), terminal.width());
  browser.draw(canvas);
  terminal.show(canvas);
}

/// Draws again only after something happened: an event, a step of what takes long, another size.
void run(Terminal& terminal, Browser& browser, const FindingsTask& findings, const views::Source& source) {
  bool working = true, changed = true;
  int height = 0;
  int width = 0;
  while (!browser.finished() && ended_by() == 0) {
    if (source.changed())
      throw database::DatabaseError(source.file(),
                                    "was overwritten while it was shown (start again; replace "
                                    "databases by renaming)");
    if (take_resumed()) {
      terminal.resume();
      changed = true;
    }
    if (changed || height != terminal.height() || width != terminal.width()) paint(terminal, browser);
    height = terminal.height();
    width = terminal.width();
    const bool forming = findings.ready() == nullptr;
    const std::optional<Event> event = terminal.next(working   ? 0
                                                     : forming ? kForFindings
                                                               : kIdleMilliseconds);
    if (!event) {
      const bool before = working;  // the last step, too, has something to show
      working = browser.work();
      changed = before || working || forming;
      continue;
    }
    working = changed = true;
    if (event->is(control('l'))) {
      terminal.forget();
      continue;
    }
    browser.handle(*event);
    if (const auto text = browser.take_copied(); text && !terminal.copy(*text))
      browser.notify("This terminal may not take copies (OSC 52): " + *text);
  }
}

}  // namespace

int browse(const views::Source& source, const std::string& database, const Screen& screen,
           BrowseStart start) {
  Workspace workspace(source, database, screen.unicode);
  workspace.columns().without_startup = start.without_startup;
  define_remembered(workspace);
  FindingsTask findings(source, database, workspace.unicode(), start.without_startup);
  Browser browser(workspace, findings);
  restore_view(browser.tabs(), workspace);
  if (!start.source_map.empty()) browser.tabs().source().put_first(start.source_map);
  if (start.other) browser.compare(std::move(*start.other));
  if (!start.remark.empty()) browser.notify(start.remark);
  {
    const SignalsNoted noted;
    Terminal terminal(light_background_stated());
    run(terminal, browser, findings, source);
  }
  save_view(browser.tabs(), workspace);
  die_if_ended();
  // Nobody waits for what is still being formed or read.
  if (browser.busy()) std::_Exit(0);
  return 0;
}

}  // namespace culprit::viewer::tui
