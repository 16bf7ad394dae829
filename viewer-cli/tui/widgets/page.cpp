#include "tui/widgets/page.hpp"

#include "text/prose.hpp"
#include "text/shorten.hpp"

#include <algorithm>

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

namespace {

int length(const std::string& text) {
  return static_cast<int>(columns(text));
}

}  // namespace

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
    canvas.write(row, column + part.width - length(part.heading), part.heading, tone, part.width);
    column += part.width + kGap;
  }
}

void Cells::write(Canvas& canvas, int row, int column, const std::function<Span(const Part&)>& cell) const {
  for (const Part& part : parts_) {
    const Span shown = cell(part);
    const int start = std::max(part.width - length(shown.text), 0);
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

}  // namespace culprit::viewer::tui
