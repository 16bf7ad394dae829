#include "tui/panes/flame_pane.hpp"

#include "text/node_label.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"
#include "tui/panes/choices.hpp"
#include "views/search.hpp"

#include <algorithm>

#include <re2/re2.h>

namespace culprit::viewer::tui {
namespace {

/// `reverse_comm` of `LAMMPS_NS::CommBrick::reverse_comm`; of what is no such name, all.
std::string last_part(const std::string& name) {
  std::size_t depth = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at + 2 < name.size() && name.compare(at, 8, "operator") != 0; ++at) {
    if (name[at] == '<' || name[at] == '(') ++depth;
    if ((name[at] == '>' || name[at] == ')') && depth > 0) --depth;
    if (depth == 0 && name[at] == ':' && name[at + 1] == ':') begin = at + 2;
  }
  return name.substr(begin);
}

/// In a narrow span the beginning of a procedure's own name says most.
std::string fit_name(const std::string& name, std::size_t width, bool unicode) {
  std::string whole = shorten_name(name, width, unicode);
  if (whole.find(unicode ? "…" : "...") == std::string::npos) return whole;
  std::string own = shorten_name(last_part(name), width, unicode);
  if (columns(own) < width || own == last_part(name)) return own;
  std::u32string letters = decode(last_part(name));
  letters.resize(std::min(letters.size(), width));
  if (unicode && !letters.empty()) letters.back() = U'…';
  std::string cut;
  for (const char32_t letter : letters) encode(letter, cut);
  return cut;
}

}  // namespace

FlamePane::FlamePane(Workspace& workspace, Host& host) : workspace_(workspace), host_(host) {}
FlamePane::~FlamePane() = default;

const FlameSpan* FlamePane::current() const {
  return cursor_ < spans_.size() ? &spans_[cursor_] : nullptr;
}

/// The graph stays as it is while only the cursor moves.
void FlamePane::form(int width) {
  const std::string column = flame_column(workspace_).title;
  if (formed_for_ == column && choice_.width == width) return;
  choice_.width = width;
  formed_for_ = column;
  spans_ = lay_out_flame(workspace_, choice_);
  cursor_ = std::min(cursor_, spans_.empty() ? 0 : spans_.size() - 1);
}

void FlamePane::figures_changed() {
  zoomed_from_.clear();
  choice_.zoomed.reset();
  formed_for_.clear();
  cursor_ = 0;
}

/// Keys may come before it was drawn.
void FlamePane::shown() {
  constexpr int kUsual = 80;
  form(choice_.width > 0 ? choice_.width : kUsual);
  note_choice();
}

/// What source and ranks show.
void FlamePane::note_choice() {
  const FlameSpan* const at = current();
  if (at != nullptr && !at->whole_run) workspace_.chosen = NodeRef{view(), at->row.node, at->row.fold};
}

// -- keys ---------------------------------------------------------------------------------------------------

bool FlamePane::handle(const Event& given) {
  form(choice_.width);
  if (spans_.empty()) return false;
  if (given.key == Key::click || given.key == Key::click_twice) return click(given);
  if (move(navigation(given))) {
    note_choice();
    return true;
  }
  if (given.key == Key::enter) {
    zoom();
    return true;
  }
  if (given.key == Key::backspace) return zoom_out();
  if (given.key != Key::letter) return false;
  switch (given.letter) {
    case U'z':
      zoom();
      return true;
    case U'Z':
      if (!zoom_out()) host_.notify("The whole run is shown");
      return true;
    case U'm':
      turn();
      return true;
    case U'u':
      turn_folding(workspace_, host_);
      return true;
    case U'/':
      ask_search();
      return true;
    case U'n':
    case U'N':
      next_match(given.letter == U'N');
      return true;
    default:
      return false;
  }
}

bool FlamePane::move(const Event& event) {
  switch (event.key) {
    case Key::up:
    case Key::wheel_up:
      to_parent();
      return true;
    case Key::down:
    case Key::wheel_down:
      to_largest_below();
      return true;
    case Key::left:
      to_neighbour(false);
      return true;
    case Key::right:
      to_neighbour(true);
      return true;
    case Key::page_up:
      for (int level = 1; level < drawn_.height; ++level) to_parent();
      return true;
    case Key::page_down:
      for (int level = 1; level < drawn_.height; ++level) to_largest_below();
      return true;
    case Key::home:
      cursor_ = 0;
      return true;
    default:
      return false;
  }
}

bool FlamePane::click(const Event& event) {
  const int level = top_ + event.row - drawn_.row;
  const int column = event.column - drawn_.column;
  const auto found = std::find_if(spans_.begin(), spans_.end(), [&](const FlameSpan& span) {
    return span.level == level && column >= span.begin && column < span.end;
  });
  if (!drawn_.contains(event.row, event.column) || found == spans_.end()) return false;
  const auto at = static_cast<std::size_t>(found - spans_.begin());
  const bool again = at == cursor_ || event.key == Key::click_twice;
  cursor_ = at;
  note_choice();
  if (again) zoom();
  return true;
}

void FlamePane::to_parent() {
  const FlameSpan* const at = current();
  if (at != nullptr && at->parent) cursor_ = *at->parent;
}

void FlamePane::to_largest_below() {
  const auto below = std::find_if(spans_.begin(), spans_.end(),
                                  [&](const FlameSpan& span) { return span.parent == cursor_; });
  if (below != spans_.end()) cursor_ = static_cast<std::size_t>(below - spans_.begin());
}

/// Spans of a level stand beside each other.
void FlamePane::to_neighbour(bool right) {
  const std::size_t next = right ? cursor_ + 1 : cursor_ - 1;
  if (next < spans_.size() && spans_[next].level == spans_[cursor_].level) cursor_ = next;
}

void FlamePane::zoom() {
  const FlameSpan* const at = current();
  if (at == nullptr || cursor_ == 0) {
    host_.notify("This is all that is shown (Backspace: back)");
    return;
  }
  zoomed_from_.push_back(choice_);
  if (choice_.callers && !choice_.zoomed) {
    const FlameSpan* procedure = at;
    while (procedure->level > 1) procedure = &spans_[*procedure->parent];
    choice_.zoomed_wait = (workspace_.view(view()).flags(procedure->row.node) & database::kFrontier) != 0 &&
                          workspace_.passed_over.wait_internals;
  }
  choice_.zoomed = at->row;
  formed_for_.clear();
  cursor_ = 0;
  host_.notify("Zoomed (Backspace: back)");
}

bool FlamePane::zoom_out() {
  if (zoomed_from_.empty()) return false;
  const views::NodeId before = choice_.zoomed ? choice_.zoomed->node : 0;
  const int width = choice_.width;
  choice_ = zoomed_from_.back();
  zoomed_from_.pop_back();
  formed_for_.clear();
  form(width);
  const auto at = std::find_if(spans_.begin(), spans_.end(), [&](const FlameSpan& span) {
    return !span.whole_run && span.row.node == before;
  });
  cursor_ = at == spans_.end() ? 0 : static_cast<std::size_t>(at - spans_.begin());
  note_choice();
  return true;
}

void FlamePane::turn() {
  choice_.callers = !choice_.callers;
  figures_changed();
  host_.notify(choice_.callers ? "Procedures by their own time, who calls them below"
                               : "The run, what it calls below");
}

// -- search -------------------------------------------------------------------------------------------------

void FlamePane::ask_search() {
  Prompt prompt;
  prompt.label = '/';
  prompt.typed = [this](const std::string& text) { search(text); };
  prompt.entered = [this](const std::string& text) {
    search(text.empty() ? searched_ : text);
    next_match(false);
    notify_matches();
  };
  prompt.left = [this] { pattern_.reset(); };
  host_.ask(std::move(prompt));
}

void FlamePane::search(const std::string& pattern) {
  pattern_.reset();
  if (pattern.empty()) return;
  try {
    pattern_ = views::make_pattern(pattern);
    searched_ = pattern;
  } catch (const views::BadPattern& bad) {
    host_.notify(bad.what());
  }
}

bool FlamePane::matches(const FlameSpan& span) {
  return pattern_ && !span.whole_run && RE2::PartialMatch(flame_label(workspace_, choice_, span), *pattern_);
}

/// How much of the time lies in what matches; of matches below each other the outer one counts.
void FlamePane::notify_matches() {
  if (!pattern_ || spans_.empty()) return;
  std::size_t number = 0;
  double sum = 0;
  std::vector<bool> inside(spans_.size(), false);
  for (std::size_t at = 0; at < spans_.size(); ++at) {
    const bool above = spans_[at].parent && inside[*spans_[at].parent];
    const bool match = matches(spans_[at]);
    inside[at] = above || match;
    if (match) ++number;
    if (match && !above) sum += spans_[at].value;
  }
  if (number == 0) {
    host_.notify("Nothing that is shown matches '" + searched_ + "' (2 searches everywhere)");
  } else {
    host_.notify(counted(number, "frame") + (number == 1 ? " matches: " : " match: ") +
                 share_of(sum, spans_.front().value));
  }
}

void FlamePane::next_match(bool backwards) {
  for (std::size_t away = 1; away <= spans_.size(); ++away) {
    const std::size_t at = (cursor_ + (backwards ? spans_.size() - away : away)) % spans_.size();
    if (!matches(spans_[at])) continue;
    cursor_ = at;
    note_choice();
    return;
  }
}

// -- drawing ------------------------------------------------------------------------------------------------

std::string FlamePane::share_of(double value, double whole) const {
  const views::Column column = flame_column(workspace_);
  const Scale scale = scale_for(whole, column.unit, workspace_.unicode());
  return scale.write(value) + (scale.unit.empty() ? "" : ' ' + scale.unit) + ", " + percent(value / whole) +
         " of what is shown";
}

std::string FlamePane::title() {
  std::string text = flame_column(workspace_).title;
  text += choice_.callers ? ", own, by callers" : ", by calling context";
  if (choice_.zoomed) text += ", zoomed";
  if (!workspace_.ranks().empty()) text += ", ranks " + workspace_.ranks();
  return text;
}

void FlamePane::draw(Canvas& canvas, const Area& area) {
  form(area.width);
  canvas.write(area.row, area.column, title(), Tone::heading, area.width);
  drawn_ = {area.row + 1, area.column, area.height - 1, area.width};
  if (spans_.empty()) {
    canvas.write(area.row + 1, area.column, "The run has nothing of this metric.", Tone::dim, area.width);
    return;
  }
  note_choice();
  const int level = spans_[cursor_].level;
  top_ = std::clamp(top_, std::max(level - drawn_.height + 1, 0), level);
  for (std::size_t index = 0; index < spans_.size(); ++index) {
    const int row = spans_[index].level - top_;
    if (row >= 0 && row < drawn_.height) draw_span(canvas, drawn_, index);
  }
}

/// A line where it begins, its name as far as there is room, on a ground of its own: waits on another.
void FlamePane::draw_span(Canvas& canvas, const Area& area, std::size_t index) {
  const FlameSpan& span = spans_[index];
  const int row = area.row + span.level - top_;
  const int column = area.column + span.begin;
  const int width = span.end - span.begin;
  const bool wait =
      !span.whole_run && (workspace_.view(view()).flags(span.row.node) & database::kInWait) != 0;
  const Tone tone = matches(span) ? Tone::match : wait ? Tone::key : Tone::bar;
  canvas.fill({row, column, 1, width}, U' ', tone);
  canvas.put(row, column, workspace_.unicode() ? U'│' : U'|', tone);
  if (width > 3) {
    const std::string name = fit_name(flame_label(workspace_, choice_, span),
                                      static_cast<std::size_t>(width) - 1, workspace_.unicode());
    canvas.write(row, column + 1, name, tone, width - 1);
  }
  if (index == cursor_) canvas.select(row, column, width);
}

std::vector<Hint> FlamePane::hints() const {
  return {{"Enter", "zoom"},
          {"Backspace", "back"},
          {"m", choice_.callers ? "by context" : "by callers"},
          {"/", "search"},
          {"s", "source"},
          {"r", "ranks"},
          {"u", workspace_.passed_over.recursion ? "unfold" : "fold"},
          {"y", "copy path"}};
}

std::string FlamePane::status() const {
  const FlameSpan* const at = current();
  if (at == nullptr) return {};
  const std::string title = at->whole_run ? "the whole run" : workspace_.title_of({view(), at->row.node});
  const std::string folded = at->whole_run ? "" : folded_phrase(workspace_.view(view()), at->row);
  return title + (folded.empty() ? "" : "  ") + folded + ": " + share_of(at->value, spans_.front().value);
}

std::string FlamePane::path() const {
  const FlameSpan* const at = current();
  return at == nullptr || at->whole_run ? std::string{} : workspace_.path_of({view(), at->row.node});
}

std::string FlamePane::csv() const {
  return workspace_.csv_of(view());
}

std::string FlamePane::topic() const {
  return flame_column(workspace_).name.event;
}

}  // namespace culprit::viewer::tui
