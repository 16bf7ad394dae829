#include "tui/panes/time_pane.hpp"

#include "commands/variation.hpp"
#include "findings/coverage.hpp"
#include "text/quantity.hpp"
#include "text/table.hpp"
#include "tui/pages/explain.hpp"
#include "tui/widgets/page.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

namespace culprit::viewer::tui {

TimePane::TimePane(Workspace& workspace, Host& host, const FindingsTask& findings)
    : workspace_(workspace),
      host_(host),
      findings_(findings),
      view_(workspace, findings),
      drawing_(workspace, view_) {}

void TimePane::draw(Canvas& canvas, const Area& area) {
  if (!view_.has_map()) {
    draw_missing(canvas, area);
    return;
  }
  view_.want_calls();
  drawing_.draw(canvas, area);
}

void TimePane::draw_missing(Canvas& canvas, const Area& area) const {
  if (findings_.ready() == nullptr) {
    canvas.write(area.row, area.column, "Reading the results of time lines...", Tone::dim, area.width);
    return;
  }
  const bool traced = workspace_.experiment().trace().traced > 0;
  const std::string why =
      traced
          ? "No procedure was seen to be called again and again: mark iterations with culprit_iteration(n) "
            "(culprit.h)."
          : "How long iterations took needs the ranks' time lines: " +
                no_time_lines_phrase(workspace_.experiment()) + '.';
  write_wrapped(canvas, area, why, Tone::plain);
}

void TimePane::go_to_whom_it_waited_for() {
  if (view_.near() == nullptr) {
    host_.notify("Zoom in (+) on the map of code (m): single calls show whom they waited for");
  } else if (!view_.go_to_whom_it_waited_for()) {
    host_.notify("This waited for no rank that is known");
  }
}

void TimePane::finer() {
  if (view_.choice().of_iterations()) {
    view_.show_next_level();
  } else {
    host_.notify("Only iterations have coarser and finer levels (m)");
  }
}

void TimePane::ask_choice() {
  const database::TraceAnalyses& trace = workspace_.experiment().trace();
  Menu menu;
  menu.title = "Over time";
  const std::vector<TimeChoice> choices = time_choices(workspace_.experiment());
  for (const TimeChoice& each : choices) {
    if (each == view_.choice()) menu.cursor = static_cast<int>(menu.entries.size());
    const std::optional<std::uint64_t> total = total_of(trace, each);
    menu.entries.push_back({name_of_choice(workspace_.experiment(), each),
                            total ? duration(seconds_of(*total), workspace_.unicode()) : "",
                            each == view_.choice()});
  }
  menu.chosen = [this, choices](std::size_t entry) { view_.show(choices[entry]); };
  host_.choose(std::move(menu));
}

bool TimePane::handle(const Event& given) {
  if (!view_.has_map()) return false;
  if (given.key == Key::click || given.key == Key::click_twice) return click(given);
  const Event event = navigation(given);
  switch (event.key) {
    case Key::left:
    case Key::right:
      view_.move_in_time(event.key == Key::right, drawing_.wide());
      return true;
    case Key::up:
    case Key::wheel_up:
    case Key::down:
    case Key::wheel_down:
      view_.move_to_rank(event.key == Key::down || event.key == Key::wheel_down, drawing_.lines());
      return true;
    case Key::page_up:
    case Key::page_down:
      view_.page(event.key == Key::page_down);
      return true;
    case Key::home:
      view_.put_cursor(view_.ranks().cursor, 0);
      return true;
    case Key::end:
      view_.put_cursor(view_.ranks().cursor, view_.grid()->columns());
      return true;
    case Key::enter:
      follow();
      return true;
    case Key::letter:
      return change(event.letter);
    default:
      return false;
  }
}

bool TimePane::change(char32_t letter) {
  switch (letter) {
    case U'+':
    case U'=':
    case U'-':
      view_.zoom(letter != U'-');
      return true;
    case U'p':
      go_to_whom_it_waited_for();
      return true;
    case U'0':
      view_.show_all();
      return true;
    case U'm':
      ask_choice();
      return true;
    case U'<':
    case U',':
    case U'>':
    case U'.':
      view_.show_next(letter == U'<' || letter == U',');
      return true;
    case U'v':
      finer();
      return true;
    default:
      return false;
  }
}

bool TimePane::click(const Event& event) {
  const Area& inside = drawing_.inside();
  if (!inside.contains(event.row, event.column)) return false;
  const auto cell = [](int offset, int cells, const Window& window, std::size_t all) {
    return window.first +
           first_of(static_cast<std::size_t>(offset), static_cast<std::size_t>(cells), window.shown(all));
  };
  const TimeGrid& grid = *view_.grid();
  view_.put_cursor(cell(event.row - inside.row, inside.height, view_.ranks(), grid.rows()),
                   cell(event.column - inside.column, inside.width, view_.segments(), grid.columns()));
  if (event.key == Key::click_twice) follow();
  return true;
}

/// To the code under the cursor, with the rank marked.
void TimePane::follow() {
  const database::ContextId context = view_.grid()->context(view_.ranks().cursor, view_.segments().cursor);
  if (context == database::kNone) {
    host_.notify("What it spent its time in was not sampled");
    return;
  }
  std::vector<std::uint32_t> locations;
  const std::int32_t rank = view_.grid()->rank(view_.ranks().cursor);
  for (const std::uint32_t location : workspace_.figures().locations()) {
    if (workspace_.experiment().locations[location].rank == rank) locations.push_back(location);
  }
  host_.go({Target::Kind::context, context, std::move(locations), -1, 0, 0, {}});
}

std::vector<Hint> TimePane::hints() const {
  if (view_.near() != nullptr) {
    return {{"arrows", "cursor"},     {"+ -", "zoom"}, {"0", "all"},    {"p", "whom it waited for"},
            {"Enter", "to the code"}, {"B", "back"},   {"e", "explain"}};
  }
  if (view_.grid() == nullptr) return {{"B", "back"}, {"e", "explain"}};
  return {{"m", "what to show"},    {"arrows", "cursor"}, {"+ -", "zoom"}, {"0", "all"},
          {"Enter", "to the code"}, {"<>", "next"},       {"v", "finer"},  {"B", "back"},
          {"e", "explain"}};
}

std::string TimePane::status() const {
  if (view_.grid() == nullptr) return {};
  return of_lines(workspace_.experiment(), "rank ") +
         std::to_string(view_.grid()->rank(view_.ranks().cursor)) + ", " +
         view_.grid()->describe(view_.ranks().cursor, view_.segments().cursor, workspace_.unicode());
}

std::string TimePane::csv() const {
  const std::vector<database::Variation>& levels = workspace_.experiment().trace().variations;
  std::ostringstream text;
  write_csv(text, workspace_.experiment(),
            segments_table(workspace_.experiment(), levels[std::min(view_.level(), levels.size() - 1)]));
  return text.str();
}

std::string TimePane::path() const {
  const database::ContextId context =
      view_.grid() != nullptr ? view_.grid()->context(view_.ranks().cursor, view_.segments().cursor)
                              : database::kNone;
  return context == database::kNone ? std::string{}
                                    : workspace_.path_of({Workspace::kCallingContext, context});
}

std::string TimePane::topic() const {
  return view_.choice().kind == TimeChoice::Kind::pattern
             ? std::string(metrics::name_of(view_.choice().pattern))
             : kMapsTopic;
}

}  // namespace culprit::viewer::tui
