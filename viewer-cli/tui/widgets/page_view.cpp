#include "tui/widgets/page_view.hpp"

#include "views/pattern.hpp"

#include <algorithm>

#include <re2/re2.h>

namespace culprit::viewer::tui {

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

void PageView::draw(Canvas& canvas, const Area& area) {
  drawn_ = area;
  // What is not to be seen at once leaves the last line for how much there is.
  const bool longer = lines() > area.height && area.height > 1;
  height_ = std::max(longer ? area.height - 1 : area.height, 1);
  top_ = std::clamp(top_, 0, std::max(lines() - height_, 0));
  if (!links_to(cursor_)) find_link();
  for (int row = 0; row < height_ && top_ + row < lines(); ++row) {
    int column = area.column;
    for (const Span& span : page_.lines[static_cast<std::size_t>(top_) + static_cast<std::size_t>(row)].spans)
      column = canvas.write(area.row + row, column, span.text, span.tone, area.column + area.width - column);
    if (top_ + row == cursor_ && links_to(cursor_)) canvas.select(area.row + row, area.column, area.width);
  }
  if (!longer) return;
  const int behind = lines() - top_ - height_;
  const std::string more = behind > 0 ? " " + std::to_string(behind) + " more below " : " end ";
  const auto length = static_cast<int>(more.size());
  canvas.write(area.row + area.height - 1, area.column + std::max(area.width - length, 0), more, Tone::key,
               length);
}

}  // namespace culprit::viewer::tui
