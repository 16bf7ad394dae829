#pragma once

#include "tui/widgets/tone.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace culprit::viewer::tui {

/// Part of a screen, in cells.
struct Area {
  int row = 0, column = 0, height = 0, width = 0;

  [[nodiscard]] bool contains(int at_row, int at_column) const {
    return at_row >= row && at_row < row + height && at_column >= column && at_column < column + width;
  }
};

struct Cell {
  char32_t letter = U' ';
  Tone tone = Tone::plain;
  bool selected = false;  ///< on the cursor's line, in what has the focus

  friend bool operator==(const Cell&, const Cell&) = default;
};

/// What the screen is to show. Nothing outside it is drawn; nobody needs to check.
class Canvas {
 public:
  Canvas(int height, int width);

  [[nodiscard]] int height() const { return height_; }
  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] Area all() const { return {0, 0, height_, width_}; }

  void put(int row, int column, char32_t letter, Tone tone = Tone::plain);
  /// Writes UTF-8 text, at most `room` columns of it; returns the column behind it. What is no printable
  /// character of one column is shown as `?`.
  int write(int row, int column, std::string_view text, Tone tone, int room);
  void fill(const Area& area, char32_t letter, Tone tone);
  /// Marks a line as the one of the cursor.
  void select(int row, int column, int width);

  [[nodiscard]] const Cell& at(int row, int column) const;
  /// The letters of a line, without blanks at its end.
  [[nodiscard]] std::string line(int row) const;

 private:
  [[nodiscard]] Cell* cell(int row, int column);

  int height_, width_;
  std::vector<Cell> cells_;
};

/// UTF-8 to code points; bytes that are no UTF-8 become `?`.
std::u32string decode(std::string_view text);
void encode(char32_t letter, std::string& into);

/// Whether a terminal shows it in one column.
bool is_narrow(char32_t letter);

}  // namespace culprit::viewer::tui
