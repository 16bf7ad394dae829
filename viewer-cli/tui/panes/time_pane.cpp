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
namespace {

/// The cursor of a window to the next of the `cells` that it is drawn in, or the one before. Of the things
/// that share that cell, to the one of the largest value: that is what is seen there.
template <typename Value>
void move(Window& window, std::size_t all, std::size_t cells, bool forward, Value value_of) {
  const std::size_t shown = window.shown(all);
  const std::size_t cell =
      cells > 0 ? ((window.cursor - window.first + 1) * cells - 1) / std::max<std::size_t>(shown, 1) : 0;
  const std::size_t per_cell = cells > 0 ? (shown + cells - 1) / cells : 1;
  const bool beyond = forward ? cell + 1 >= cells : cell == 0;
  if (per_cell <= 1 || beyond) {
    window.move(forward ? static_cast<std::ptrdiff_t>(per_cell) : -static_cast<std::ptrdiff_t>(per_cell),
                all);
    return;
  }
  const std::size_t next = forward ? cell + 1 : cell - 1;
  const std::size_t from = window.first + first_of(next, cells, shown);
  const std::size_t until = window.first + first_of(next + 1, cells, shown);
  window.cursor = from;
  for (std::size_t at = from; at < until; ++at) {
    if (value_of(at) > value_of(window.cursor)) window.cursor = at;
  }
  window.fit(all);
}

}  // namespace

TimePane::TimePane(Workspace& workspace, Host& host, const FindingsTask& findings)
    : workspace_(workspace), host_(host), findings_(findings) {}

const TimeGrid* TimePane::grid() {
  if (grid_) return grid_.get();
  if (findings_.ready() == nullptr) return nullptr;  // results of time lines are still being read
  const std::vector<TimeChoice> choices = time_choices(workspace_.experiment());
  if (choices.empty()) return nullptr;
  if (std::find(choices.begin(), choices.end(), choice_) == choices.end()) choice_ = choices.front();
  grid_ = make_time_grid(workspace_.experiment(), choice_, finer_);
  legend_ = grid_->legend();
  return grid_.get();
}

void TimePane::show(const TimeChoice& choice) {
  const auto kind = [this] {
    return grid_ ? std::pair(grid_->columns(), grid_->axis()) : std::pair(std::size_t{0}, std::string());
  };
  go_far();
  const auto before = kind();
  grid_.reset();  // large ones are not kept beside each other
  choice_ = choice;
  map_ = {};
  if (grid() == nullptr) return;
  // The place is kept among maps of the same columns.
  if (kind() != before) segments_ = {};
  ranks_.fit(grid_->rows());
}

/// To the next column, and past a call that is wider.
void TimePane::move_in_time(bool forward) {
  const std::size_t columns = grid_->columns();
  const std::size_t call =
      near_ == nullptr ? segments_.cursor : near_->beside(ranks_.cursor, segments_.cursor, forward);
  move(segments_, columns, map_.wide, forward,
       [&](std::size_t column) { return grid_->weight(ranks_.cursor, column); });
  if (near_ == nullptr) return;
  segments_.cursor = forward ? std::max(segments_.cursor, call) : std::min(segments_.cursor, call);
  segments_.fit(columns);
}

/// Around the cursor.
void TimePane::zoom(bool in) {
  constexpr std::size_t kFew = 16;  // bins: these and fewer are shown call by call
  if (in && choice_.kind == TimeChoice::Kind::code && near_ == nullptr &&
      segments_.shown(grid_->columns()) <= kFew)
    come_near();
  ranks_.zoom(in, grid_->rows());
  segments_.zoom(in, grid_->columns());
  if (near_ != nullptr && segments_.shown(grid_->columns()) > kFew << near_->shift()) go_far();
}

void TimePane::come_near() {
  if (!calls_) calls_ = std::make_unique<SingleCalls>(workspace_.source(), workspace_.database());
  const std::size_t shown = segments_.shown(grid_->columns());
  auto calls = std::make_unique<CallsGrid>(workspace_.experiment(), std::move(grid_), *calls_);
  near_ = calls.get();
  grid_ = std::move(calls);
  const unsigned shift = near_->shift();
  const std::size_t half = (std::size_t{1} << shift) / 2;
  segments_ = {.first = segments_.first << shift,
               .count = shown << shift,
               .cursor = (segments_.cursor << shift) + half};
  map_ = {};
}

void TimePane::go_far() {
  if (near_ == nullptr) return;
  const unsigned shift = near_->shift();
  grid_ = near_->take_bins();
  near_ = nullptr;
  segments_ = {.first = segments_.first >> shift,
               .count = segments_.count >> shift,
               .cursor = segments_.cursor >> shift};
  segments_.fit(grid_->columns());
  map_ = {};
}

void TimePane::go_to_whom_it_waited_for() {
  const auto place = near_ == nullptr ? std::nullopt : near_->waited_for(ranks_.cursor, segments_.cursor);
  if (!place) {
    host_.notify(near_ == nullptr
                     ? "Zoom in (+) on the map of code (m): single calls show whom they waited for"
                     : "This waited for no rank that is known");
    return;
  }
  ranks_.cursor = place->row;
  segments_.cursor = place->column;
  ranks_.fit(grid_->rows());
  segments_.fit(grid_->columns());
}

bool TimePane::work() {
  if (near_ == nullptr || !waits_for_calls_) return false;
  waits_for_calls_ = calls_->reading();
  return true;  // what was read is to be drawn
}

void TimePane::next_choice(bool backwards) {
  const std::vector<TimeChoice> choices = time_choices(workspace_.experiment());
  const auto now =
      static_cast<std::size_t>(std::find(choices.begin(), choices.end(), choice_) - choices.begin());
  show(choices[(now + (backwards ? choices.size() - 1 : 1)) % choices.size()]);
}

void TimePane::ask_choice() {
  const database::TraceAnalyses& trace = workspace_.experiment().trace();
  Menu menu;
  menu.title = "Over time";
  const std::vector<TimeChoice> choices = time_choices(workspace_.experiment());
  for (const TimeChoice& each : choices) {
    if (each == choice_) menu.cursor = static_cast<int>(menu.entries.size());
    const std::optional<std::uint64_t> total = total_of(trace, each);
    menu.entries.push_back({name_of_choice(workspace_.experiment(), each),
                            total ? duration(seconds_of(*total), workspace_.unicode()) : "",
                            each == choice_});
  }
  menu.chosen = [this, choices](std::size_t entry) { show(choices[entry]); };
  host_.choose(std::move(menu));
}

void TimePane::finer() {
  if (!choice_.of_iterations()) {
    host_.notify("Only iterations have coarser and finer levels (m)");
    return;
  }
  finer_ = (finer_ + 1) % workspace_.experiment().trace().variations.size();
  ranks_ = {};
  show(choice_);
}

void TimePane::point_at(const Target& target) {
  finer_ = target.level;
  show({TimeChoice::Kind::iterations, {}});
  if (grid() == nullptr || target.rank < 0) return;
  for (std::size_t row = 0; row < grid_->rows(); ++row) {
    if (grid_->rank(row) == target.rank) ranks_.cursor = row;
  }
  segments_.cursor = target.segment;
  ranks_.fit(grid_->rows());
  segments_.fit(grid_->columns());
}

bool TimePane::handle(const Event& given) {
  if (grid() == nullptr) return false;
  if (given.key == Key::click || given.key == Key::click_twice) return click(given);
  const Event event = navigation(given);
  const std::size_t ranks = grid_->rows();
  const std::size_t segments = grid_->columns();
  switch (event.key) {
    case Key::left:
    case Key::right:
      move_in_time(event.key == Key::right);
      return true;
    case Key::up:
    case Key::wheel_up:
    case Key::down:
    case Key::wheel_down:
      move(ranks_, ranks, map_.lines, event.key == Key::down || event.key == Key::wheel_down,
           [&](std::size_t rank) { return grid_->at(rank, segments_.cursor); });
      return true;
    case Key::page_up:
      ranks_.move(-static_cast<std::ptrdiff_t>(std::max<std::size_t>(ranks_.shown(ranks) / 4, 1)), ranks);
      return true;
    case Key::page_down:
      ranks_.move(static_cast<std::ptrdiff_t>(std::max<std::size_t>(ranks_.shown(ranks) / 4, 1)), ranks);
      return true;
    case Key::home:
      segments_.cursor = 0;
      segments_.fit(segments);
      return true;
    case Key::end:
      segments_.cursor = segments;
      segments_.fit(segments);
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
  const std::size_t ranks = grid_->rows();
  switch (letter) {
    case U'+':
    case U'=':
    case U'-':
      zoom(letter != U'-');
      return true;
    case U'p':
      go_to_whom_it_waited_for();
      return true;
    case U'0':
      go_far();
      ranks_.count = segments_.count = 0;
      ranks_.fit(ranks);
      segments_.fit(grid_->columns());
      return true;
    case U'm':
      ask_choice();
      return true;
    case U'<':
    case U',':
    case U'>':
    case U'.':
      next_choice(letter == U'<' || letter == U',');
      return true;
    case U'v':
      finer();
      return true;
    default:
      return false;
  }
}

bool TimePane::click(const Event& event) {
  if (!inside_.contains(event.row, event.column)) return false;
  const std::size_t ranks = grid_->rows();
  const auto cell = [](int offset, int cells, const Window& window, std::size_t all) {
    return window.first +
           first_of(static_cast<std::size_t>(offset), static_cast<std::size_t>(cells), window.shown(all));
  };
  ranks_.cursor = cell(event.row - inside_.row, inside_.height, ranks_, ranks);
  segments_.cursor = cell(event.column - inside_.column, inside_.width, segments_, grid_->columns());
  ranks_.fit(ranks);
  segments_.fit(grid_->columns());
  if (event.key == Key::click_twice) follow();
  return true;
}

/// To the code under the cursor, with the rank marked.
void TimePane::follow() {
  const database::ContextId context = grid_->context(ranks_.cursor, segments_.cursor);
  if (context == database::kNone) {
    host_.notify("What it spent its time in was not sampled");
    return;
  }
  std::vector<std::uint32_t> locations;
  const std::int32_t rank = grid_->rank(ranks_.cursor);
  for (const std::uint32_t location : workspace_.figures().locations()) {
    if (workspace_.experiment().locations[location].rank == rank) locations.push_back(location);
  }
  host_.go({Target::Kind::context, context, std::move(locations), -1, 0, 0, {}});
}

std::vector<Hint> TimePane::hints() const {
  if (near_ != nullptr) {
    return {{"arrows", "cursor"},     {"+ -", "zoom"}, {"0", "all"},    {"p", "whom it waited for"},
            {"Enter", "to the code"}, {"B", "back"},   {"e", "explain"}};
  }
  if (!grid_) return {{"B", "back"}, {"e", "explain"}};
  return {{"m", "what to show"},    {"arrows", "cursor"}, {"+ -", "zoom"}, {"0", "all"},
          {"Enter", "to the code"}, {"<>", "next"},       {"v", "finer"},  {"B", "back"},
          {"e", "explain"}};
}

std::string TimePane::status() const {
  if (!grid_) return {};
  return of_lines(workspace_.experiment(), "rank ") + std::to_string(grid_->rank(ranks_.cursor)) + ", " +
         grid_->describe(ranks_.cursor, segments_.cursor, workspace_.unicode());
}

std::string TimePane::csv() const {
  const std::vector<database::Variation>& levels = workspace_.experiment().trace().variations;
  std::ostringstream text;
  write_csv(text, workspace_.experiment(),
            segments_table(workspace_.experiment(), levels[std::min(finer_, levels.size() - 1)]));
  return text.str();
}

std::string TimePane::path() const {
  const database::ContextId context =
      grid_ ? grid_->context(ranks_.cursor, segments_.cursor) : database::kNone;
  return context == database::kNone ? std::string{}
                                    : workspace_.path_of({Workspace::kCallingContext, context});
}

std::string TimePane::topic() const {
  return choice_.kind == TimeChoice::Kind::pattern ? std::string(metrics::name_of(choice_.pattern))
                                                   : kMapsTopic;
}

}  // namespace culprit::viewer::tui
