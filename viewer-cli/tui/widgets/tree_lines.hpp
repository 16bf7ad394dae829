#pragma once

#include "tui/widgets/canvas.hpp"
#include "tui/widgets/event.hpp"
#include "tui/widgets/scroll.hpp"
#include "views/outline.hpp"

#include <cstddef>

// What trees have in common: lines with guides in front of names, a cursor, matches of a search.
namespace culprit::viewer::tui {

/// Writes the guides of a row (`├ ` where siblings follow, `└ ` for the last one, `│ ` for levels that it
/// passes; nothing for an only child) and the sign of a node that opens (`▸`), is open (`▾`), or has nothing
/// below it; returns the column of its name. However deep it stands, a name keeps some room: guides lose
/// their beginning.
int draw_guides(Canvas& canvas, const Area& row, const views::Outline::Item& item, bool opens, bool unicode);

/// Draws the rows that fit into `area` below its first `above` lines, by draw_row(line of the canvas, row),
/// and shows which one the cursor is on.
template <class DrawRow>
void draw_rows(Canvas& canvas, const Area& area, int above, Scroll& scroll, std::size_t rows,
               DrawRow draw_row) {
  const int height = area.height - above;
  scroll.fit(static_cast<int>(rows), height);
  for (int line = 0; line < height && scroll.top + line < static_cast<int>(rows); ++line) {
    const int row = scroll.top + line;
    draw_row(area.row + above + line, static_cast<std::size_t>(row));
    if (row == scroll.cursor) canvas.select(area.row + above + line, area.column, area.width);
  }
}

/// Puts the cursor on the row that was clicked, in an area that was drawn by draw_rows(); true: the row is to
/// be opened, or closed, since it was clicked twice.
bool click_row(const Event& event, const Area& area, int above, Scroll& scroll, std::size_t rows);

/// Shows a name as a match of a search.
void mark_match(Canvas& canvas, int row, int from, int until);

}  // namespace culprit::viewer::tui
