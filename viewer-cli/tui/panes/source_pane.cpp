#include "tui/panes/source_pane.hpp"

#include "text/quantity.hpp"
#include "text/shorten.hpp"
#include "tui/panes/number_cells.hpp"
#include "views/frame.hpp"
#include "views/search.hpp"

#include <algorithm>
#include <cmath>

#include <re2/re2.h>

namespace culprit::viewer::tui {
namespace {

constexpr int kColouredAtOnce = 120;  // lines; a few milliseconds
constexpr int kCostWidth = 6;
constexpr int kSidewaysStep = 8;

/// Sums the flat view's statements of a file.
LineCosts costs_of_lines(Workspace& workspace, std::string_view file,
                         const std::vector<NumberColumn>& columns) {
  LineCosts costs;
  const database::Contents& experiment = workspace.experiment();
  std::uint32_t wanted = database::kNone;  // all scopes of a file name it by the same number
  for (database::FlatId scope = 0; scope < experiment.flat.size(); ++scope) {
    const database::FlatScope& self = experiment.flat[scope];
    if (self.kind != database::ContextKind::statement || self.line == 0) continue;
    if (wanted == database::kNone && experiment.strings[self.file] == file) wanted = self.file;
    if (self.file != wanted) continue;
    std::vector<double>& sums = costs[self.line];
    sums.resize(columns.size(), 0);
    for (std::size_t column = 0; column < columns.size(); ++column) {
      const double value = workspace.view(Workspace::kFlat).value(scope, columns[column].column);
      if (!std::isnan(value)) sums[column] += value;
    }
  }
  return costs;
}

}  // namespace

SourcePane::SourcePane(Workspace& workspace, Host& host) : workspace_(workspace), host_(host) {}

void SourcePane::set_prefixes(PathPrefixes prefixes) {
  prefixes_ = std::move(prefixes);
  file_.clear();
  shown_.reset();
}

void SourcePane::put_first(const PathPrefixes& prefixes) {
  PathPrefixes all = prefixes;
  for (const auto& each : prefixes_) {
    const bool replaced = std::any_of(prefixes.begin(), prefixes.end(),
                                      [&](const auto& other) { return other.first == each.first; });
    if (!replaced) all.push_back(each);
  }
  set_prefixes(std::move(all));
}

bool SourcePane::up_to_date() const {
  return shown_ == workspace_.chosen && sorted_ == workspace_.columns().sort_column().column.title;
}

void SourcePane::shown() {
  if (!up_to_date()) load();
}

/// The time of each line, and what the trees are sorted by where that is something else.
std::vector<NumberColumn> SourcePane::columns_shown() const {
  std::vector<NumberColumn> columns = {workspace_.columns().front()};
  const NumberColumn& sorted = workspace_.columns().sort_column();
  const bool same = sorted.column.name.event == columns.front().column.name.event;
  if (!same && sorted.column.additive()) columns.push_back(sorted);
  return columns;
}

void SourcePane::load() {
  shown_ = workspace_.chosen;
  sorted_ = workspace_.columns().sort_column().column.title;
  columns_ = columns_shown();
  const std::string before = file_;
  line_ = 0;
  file_.clear();
  if (!shown_) return;
  const views::Frame frame = workspace_.view(shown_->view).frame(shown_->node);
  file_ = frame.file;
  line_ = static_cast<int>(frame.line);
  costs_ = file_.empty() ? LineCosts{} : costs_of_lines(workspace_, file_, columns_);
  if (file_ != before || text_.lines.empty()) {
    text_ = file_.empty() ? SourceText{} : find_source(workspace_.experiment(), file_, prefixes_);
    syntax_ = text_.lines.empty() ? nullptr : std::make_unique<Syntax>(file_);
    tones_.clear();
  }
  scroll_.cursor = std::max(line_ - 1, 0);
  scroll_.top = std::max(scroll_.cursor - scroll_.page / 3, 0);
  sideways_ = 0;
}

/// Colours as far as the screen shows, and then a page ahead.
bool SourcePane::work() {
  if (!up_to_date()) {
    load();
    return true;
  }
  const auto lines = text_.lines.size();
  const auto wanted = std::min(lines, static_cast<std::size_t>(scroll_.top + 2 * scroll_.page));
  if (!syntax_ || tones_.size() >= wanted) return false;
  const std::size_t end = std::min(wanted, tones_.size() + kColouredAtOnce);
  while (tones_.size() < end) tones_.push_back(syntax_->next(text_.lines[tones_.size()]));
  return tones_.size() < wanted;
}

bool SourcePane::handle(const Event& given) {
  const Event event = navigation(given);
  if (scroll_.move(event, static_cast<int>(text_.lines.size()))) return true;
  if (event.key == Key::left || event.key == Key::right) {
    sideways_ = std::max(sideways_ + (event.key == Key::left ? -kSidewaysStep : kSidewaysStep), 0);
    return true;
  }
  if (event.key != Key::letter) return false;
  switch (event.letter) {
    case U'/':
      ask_search();
      return true;
    case U'n':
    case U'N':
      if (searched_.empty()) {
        to_costly_line(event.letter == U'N');
      } else {
        find(event.letter == U'N');
      }
      return true;
    case U'P':
      ask_prefix();
      return true;
    default:
      return false;
  }
}

void SourcePane::to_costly_line(bool backwards) {
  const auto here = static_cast<std::uint32_t>(scroll_.cursor + 1);
  if (backwards) {
    auto before = costs_.lower_bound(here);
    if (before == costs_.begin()) {
      host_.notify("No line before costs anything");
      return;
    }
    scroll_.cursor = static_cast<int>((--before)->first) - 1;
    return;
  }
  const auto behind = costs_.upper_bound(here);
  if (behind == costs_.end()) {
    host_.notify("No line behind costs anything");
    return;
  }
  scroll_.cursor = static_cast<int>(behind->first) - 1;
}

void SourcePane::ask_search() {
  Prompt prompt;
  prompt.label = '/';
  prompt.entered = [this](const std::string& text) {
    searched_ = text;
    if (!text.empty()) find(false);
  };
  host_.ask(std::move(prompt));
}

void SourcePane::find(bool backwards) try {
  const auto wanted = views::make_pattern(searched_);
  const auto lines = static_cast<int>(text_.lines.size());
  for (int away = 1; away <= lines; ++away) {
    const int line = ((scroll_.cursor + (backwards ? -away : away)) % lines + lines) % lines;
    if (!RE2::PartialMatch(text_.lines[static_cast<std::size_t>(line)], *wanted)) continue;
    scroll_.cursor = line;
    return;
  }
  host_.notify("Nothing matches '" + searched_ + "'");
} catch (const views::BadPattern& bad) {
  host_.notify(bad.what());
}

void SourcePane::ask_prefix() {
  Prompt prompt;
  prompt.label = "Sources are now under (OLD=NEW): ";
  prompt.text = file_.substr(0, file_.rfind('/') == std::string::npos ? 0 : file_.rfind('/')) + '=';
  prompt.entered = [this](const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      host_.notify("Write OLD=NEW: the beginning of the paths, and what to put in its place");
      return;
    }
    put_first({{text.substr(0, equals), text.substr(equals + 1)}});
    shown();
    if (text_.lines.empty()) host_.notify(file_ + ' ' + text_.origin);
  };
  host_.ask(std::move(prompt));
}

// -- drawing ------------------------------------------------------------------------------------------------

void SourcePane::draw(Canvas& canvas, const Area& area) {
  if (text_.lines.empty()) {
    draw_missing(canvas, area);
    return;
  }
  const bool unicode = workspace_.unicode();
  std::string title;
  for (const NumberColumn& each : columns_) {
    std::string heading = each.heading + " %";
    if (heading.size() > kCostWidth) heading = heading.substr(0, kCostWidth);
    title += std::string(kCostWidth - heading.size(), ' ') + heading + ' ';
  }
  const int column = canvas.write(area.row, area.column, title, Tone::heading, area.width);
  const std::string where = file_ + (text_.origin == file_ ? "" : ", " + text_.origin);
  const int room = std::max(area.column + area.width - column - 1, 1);
  canvas.write(area.row, column + 1, shorten_middle(where, static_cast<std::size_t>(room), unicode),
               Tone::heading, room);
  const int height = area.height - 1;
  scroll_.fit(static_cast<int>(text_.lines.size()), height);
  for (int row = 0; row < height; ++row) {
    const int line = scroll_.top + row;
    if (line >= static_cast<int>(text_.lines.size())) break;
    draw_line(canvas, area, area.row + 1 + row, line);
    if (line == scroll_.cursor) canvas.select(area.row + 1 + row, area.column, area.width);
  }
}

int SourcePane::draw_costs(Canvas& canvas, int row, int column, int line) const {
  const auto costs = costs_.find(static_cast<std::uint32_t>(line + 1));
  for (std::size_t each = 0; each < columns_.size(); ++each) {
    if (costs != costs_.end() && columns_[each].whole > 0 && costs->second[each] > 0) {
      const double share = costs->second[each] / columns_[each].whole;
      const std::string text = grouped(share * kPercent, 1);
      canvas.write(row, column + kCostWidth - static_cast<int>(columns(text)), text, tone_of_share(share),
                   kCostWidth);
    }
    column += kCostWidth + 1;
  }
  return column;
}

void SourcePane::draw_line(Canvas& canvas, const Area& area, int row, int line) const {
  const int end = area.column + area.width;
  int column = draw_costs(canvas, row, area.column, line);
  const bool own = line + 1 == line_;
  const std::string number = std::to_string(line + 1);
  const auto digits = static_cast<int>(std::to_string(text_.lines.size()).size());
  canvas.write(row, column + digits - static_cast<int>(number.size()), number, own ? Tone::strong : Tone::dim,
               digits);
  column += digits + 1;
  canvas.put(row, column, own ? (workspace_.unicode() ? U'▶' : U'>') : U' ', Tone::hot);
  column += 2;
  const std::string& text = text_.lines[static_cast<std::size_t>(line)];
  const auto known = static_cast<std::size_t>(line) < tones_.size();
  const Tones none;
  const Tones& tones = known ? tones_[static_cast<std::size_t>(line)] : none;
  std::size_t begin = 0;
  Tone tone = Tone::plain;
  int at = column - sideways_;
  const auto part = [&](std::size_t until) {
    for (const char32_t letter : decode(std::string_view(text).substr(begin, until - begin))) {
      if (at >= column && at < end) canvas.put(row, at, letter, tone);
      ++at;
    }
    begin = until;
  };
  for (const auto& [from, next] : tones) {
    if (from < begin || from > text.size()) continue;
    part(from);
    tone = next;
  }
  part(text.size());
}

void SourcePane::draw_missing(Canvas& canvas, const Area& area) const {
  if (!shown_) {
    canvas.write(area.row, area.column, "Choose a node in a tree first.", Tone::dim, area.width);
    return;
  }
  const views::Frame frame = workspace_.view(shown_->view).frame(shown_->node);
  if (!up_to_date()) return;
  Page page;
  page.say(label(frame), area.width, 0, Tone::strong);
  if (file_.empty()) {
    const std::string module(views::base_name(frame.module));
    page.say(module.empty() ? "It stands for no source code."
             : frame.kind == database::ContextKind::module
                 ? "A load module stands for many files: choose a file or a procedure in it (4, U and F)."
                 : "No source is known: " + module +
                       " has no debug information for it (compile it with -g, or install its debug package).",
             area.width);
  } else {
    page.say(file_ + (line_ > 0 ? ", line " + std::to_string(line_) : "") + ' ' + text_.origin, area.width);
  }
  int row = area.row;
  for (const PageLine& line : page.lines) {
    if (row >= area.row + area.height) break;
    canvas.write(row++, area.column, text_of(line), line.spans.front().tone, area.width);
  }
}

std::vector<Hint> SourcePane::hints() const {
  return {{"n N", "next, previous costly line"},
          {"/", "search"},
          {"h l", "sideways"},
          {"P", "where files are"},
          {"r", "ranks"},
          {"B", "back"}};
}

std::string SourcePane::status() const {
  if (!shown_) return {};
  return workspace_.title_of(*shown_);
}

}  // namespace culprit::viewer::tui
