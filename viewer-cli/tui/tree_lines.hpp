#pragma once

#include "tui/canvas.hpp"

#include <string>

// What stands in front of names in a tree.
namespace culprit::viewer::tui {

/// The guides of a node at whose level siblings stand: `├ ` or, the last one, `└ `; nothing for an only
/// child.
std::string branch_guide(bool last, bool alone, bool unicode);
/// The guides of a level that a deeper node passes: `│ ` where siblings follow below.
std::string through_guide(bool last, bool alone, bool unicode);

/// Writes guides and the sign of a node that opens (`▸`), is open (`▾`), or has nothing below it; returns the
/// column of its name. However deep it stands, a name keeps some room of `room` columns: guides lose their
/// beginning.
int draw_guides(Canvas& canvas, int row, int column, int room, const std::string& guides, bool opens,
                bool open, bool unicode);

}  // namespace culprit::viewer::tui
