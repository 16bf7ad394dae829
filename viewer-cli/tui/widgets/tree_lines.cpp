#include "tui/widgets/tree_lines.hpp"

#include "text/guides.hpp"

#include <algorithm>

namespace culprit::viewer::tui {
namespace {

constexpr int kRoomForName = 24;  // columns that guides leave

std::string guides_of(const views::Outline::Item& item, bool unicode) {
  if (item.parent == nullptr) return {};
  const Guides signs = guides(unicode);
  std::string text = item.alone ? "" : item.last ? signs.last : signs.middle;
  for (const views::Outline::Item* above = item.parent; above->parent != nullptr; above = above->parent) {
    if (!above->alone) text.insert(0, above->last ? signs.nothing : signs.through);
  }
  return text;
}

}  // namespace

int draw_guides(Canvas& canvas, const Area& area, const views::Outline::Item& item, bool opens,
                bool unicode) {
  const int row = area.row;
  int column = area.column;
  const std::string guides = guides_of(item, unicode);
  const std::u32string letters = decode(guides);
  const auto wide = static_cast<int>(letters.size());
  const int most = std::max(area.width - kRoomForName, 4);
  if (wide > most) {
    canvas.put(row, column++, unicode ? U'…' : U'~', Tone::dim);
    for (int at = wide - most + 1; at < wide; ++at)
      canvas.put(row, column++, letters[static_cast<std::size_t>(at)], Tone::dim);
  } else {
    column = canvas.write(row, column, guides, Tone::dim, wide);
  }
  const char32_t sign = !opens ? U' ' : item.open ? (unicode ? U'▾' : U'v') : (unicode ? U'▸' : U'+');
  canvas.put(row, column, sign, Tone::dim);
  return column + 2;
}

bool click_row(const Event& event, const Area& area, int above, Scroll& scroll, std::size_t rows) {
  const int row = scroll.top + event.row - area.row - above;
  if (row < 0 || row >= static_cast<int>(rows)) return false;
  const bool again = row == scroll.cursor;
  scroll.cursor = row;
  return again || event.key == Key::click_twice;
}

void mark_match(Canvas& canvas, int row, int from, int until) {
  for (int at = from; at < until; ++at) canvas.put(row, at, canvas.at(row, at).letter, Tone::match);
}

}  // namespace culprit::viewer::tui
