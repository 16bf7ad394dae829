#include "tui/widgets/page.hpp"

#include "text/prose.hpp"
#include "text/shorten.hpp"
#include "views/search.hpp"

#include <algorithm>

#include <re2/re2.h>

namespace culprit::viewer::tui {

void Page::say(const std::string& text, int width, int indent, Tone tone, std::optional<Target> target) {
  constexpr int kNarrowest = 20;
  const auto room = static_cast<std::size_t>(std::max(width - indent, kNarrowest));
  const std::string wrapped = wrap(text, room);
  for (std::size_t begin = 0; begin <= wrapped.size();) {
    const std::size_t end = std::min(wrapped.find('\n', begin), wrapped.size());
    lines.push_back(
        {{{std::string(static_cast<std::size_t>(indent), ' ') + wrapped.substr(begin, end - begin), tone}},
         target,
         {}});
    target.reset();
    begin = end + 1;
  }
}

std::string text_of(const PageLine& line) {
  std::string text;
  for (const Span& span : line.spans) text += span.text;
  return text;
}

void write_wrapped(Canvas& canvas, const Area& area, const std::string& text, Tone tone) {
  Page page;
  page.say(text, area.width);
  int row = area.row;
  for (const PageLine& line : page.lines) canvas.write(row++, area.column, text_of(line), tone, area.width);
}

int width_of(const std::string& text) {
  return static_cast<int>(columns(text));
}

std::string Cells::heading(std::size_t column, const std::string& text) const {
  if (column != sorted_) return text;
  return (unicode_ ? (smallest_first_ ? "▲" : "▼") : (smallest_first_ ? "^" : "v")) + text;
}

bool Cells::add(const std::vector<Part>& parts, int room) {
  int needed = 0;
  for (const Part& part : parts) needed += part.width + kGap;
  if (width_ + needed > room && !parts_.empty()) return false;
  width_ += needed;
  parts_.insert(parts_.end(), parts.begin(), parts.end());
  return true;
}

bool Cells::shows(std::size_t column) const {
  return std::ranges::find(parts_, column, &Part::column) != parts_.end();
}

void Cells::header(Canvas& canvas, int row, int column) const {
  for (const Part& part : parts_) {
    const Tone tone = part.column == sorted_ ? Tone::strong : Tone::heading;
    canvas.write(row, column + part.width - width_of(part.heading), part.heading, tone, part.width);
    column += part.width + kGap;
  }
}

void Cells::write(Canvas& canvas, int row, int column, const std::function<Span(const Part&)>& cell) const {
  for (const Part& part : parts_) {
    const Span shown = cell(part);
    const int start = std::max(part.width - width_of(shown.text), 0);
    canvas.write(row, column + start, shown.text, shown.tone, part.width);
    column += part.width + kGap;
  }
}

std::optional<std::size_t> Cells::column_at(int offset) const {
  int begin = 0;
  for (const Part& part : parts_) {
    if (offset >= begin && offset < begin + part.width + kGap) return part.column;
    begin += part.width + kGap;
  }
  return std::nullopt;
}

void PageView::set_page(Page page) {
  page_ = std::move(page);
  find_link();
}

bool PageView::links_to(int line) const {
  return line >= 0 && line < lines() && page_.lines[static_cast<std::size_t>(line)].target.has_value();
}

/// The cursor to a link, if there is any near.
void PageView::find_link() {
  cursor_ = std::clamp(cursor_, 0, std::max(lines() - 1, 0));
  for (int away = 0; away < lines(); ++away) {
    if (links_to(cursor_ + away)) {
      cursor_ += away;
      return;
    }
    if (links_to(cursor_ - away)) {
      cursor_ -= away;
      return;
    }
  }
}

void PageView::to_top() {
  top_ = cursor_ = 0;
  find_link();
}

/// To the next link; where the next is not on the screen the text moves by a line.
void PageView::step(int direction) {
  int next = cursor_ + direction;
  while (next >= 0 && next < lines() && !links_to(next)) next += direction;
  const bool near = next >= top_ - 1 && next <= top_ + height_;
  if (links_to(next) && near) {
    cursor_ = next;
    top_ = std::clamp(top_, cursor_ - height_ + 1, cursor_);
    if (direction < 0 && cursor_ < height_ / 2) top_ = 0;
  } else {
    top_ += direction;
  }
}

void PageView::turn(int by) {
  top_ = std::clamp(top_ + by, 0, std::max(lines() - height_, 0));
  cursor_ = by < 0 ? top_ : std::min(top_ + height_, lines()) - 1;
  if (by > 0) cursor_ = top_;
  find_link();
}

bool PageView::handle(const Event& given) {
  const Event event = navigation(given);
  constexpr int kWheel = 3;
  switch (event.key) {
    case Key::up:
      step(-1);
      return true;
    case Key::down:
      step(1);
      return true;
    case Key::page_up:
      turn(1 - height_);
      return true;
    case Key::page_down:
      turn(height_ - 1);
      return true;
    case Key::wheel_up:
      turn(-kWheel);
      return true;
    case Key::wheel_down:
      turn(kWheel);
      return true;
    case Key::home:
      to_top();
      return true;
    case Key::end:
      turn(lines());
      cursor_ = std::max(lines() - 1, 0);
      find_link();
      return true;
    default:
      return false;
  }
}

const PageLine* PageView::current() const {
  return links_to(cursor_) ? &page_.lines[static_cast<std::size_t>(cursor_)] : nullptr;
}

const PageLine* PageView::click(int row, int column) {
  if (!drawn_.contains(row, column)) return nullptr;
  const int line = top_ + row - drawn_.row;
  if (!links_to(line)) return nullptr;
  cursor_ = line;
  return current();
}

bool PageView::find(const std::string& pattern, bool backwards) {
  const auto wanted = views::make_pattern(pattern);
  const int direction = backwards ? -1 : 1;
  for (int away = 1; away <= lines(); ++away) {
    const int line = ((cursor_ + direction * away) % lines() + lines()) % lines();
    if (!RE2::PartialMatch(text_of(page_.lines[static_cast<std::size_t>(line)]), *wanted)) continue;
    cursor_ = line;
    top_ = std::clamp(top_, cursor_ - height_ + 1, cursor_);
    return true;
  }
  return false;
}

bool PageView::is_heading(int line) const {
  const std::vector<Span>& spans = page_.lines[static_cast<std::size_t>(line)].spans;
  return !spans.empty() && spans.front().tone == Tone::heading;
}

void PageView::draw(Canvas& canvas, const Area& area) {
  drawn_ = area;
  // What is not to be seen at once leaves the last line for how much there is.
  const bool longer = lines() > area.height && area.height > 1;
  height_ = std::max(longer ? area.height - 1 : area.height, 1);
  top_ = std::clamp(top_, 0, std::max(lines() - height_, 0));
  if (!links_to(cursor_)) find_link();
  int end = std::min(top_ + height_, lines());
  // A heading without anything below it says nothing.
  while (end < lines() && end > top_ + 1 && is_heading(end - 1)) --end;
  for (int row = 0; top_ + row < end; ++row) {
    int column = area.column;
    for (const Span& span : page_.lines[static_cast<std::size_t>(top_) + static_cast<std::size_t>(row)].spans)
      column = canvas.write(area.row + row, column, span.text, span.tone, area.column + area.width - column);
    if (top_ + row == cursor_ && links_to(cursor_)) canvas.select(area.row + row, area.column, area.width);
  }
  if (!longer) return;
  const int behind = lines() - end;
  const std::string more = behind > 0 ? " " + std::to_string(behind) + " more below " : " end ";
  const auto length = static_cast<int>(more.size());
  canvas.write(area.row + area.height - 1, area.column + std::max(area.width - length, 0), more, Tone::key,
               length);
}

}  // namespace culprit::viewer::tui
