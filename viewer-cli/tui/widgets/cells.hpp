#pragma once

#include "tui/widgets/canvas.hpp"
#include "tui/widgets/page.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace culprit::viewer::tui {

/// The numbers in front of a tree, right-aligned below their headings: as many columns as there is room for.
class Cells {
 public:
  /// What a column shows side by side: an amount, a share, or both.
  struct Part {
    std::size_t column = 0;
    bool share = false;
    std::string heading;
    int width = 0;
  };

  /// `sorted`: the column that rows are sorted by.
  Cells(std::size_t sorted, bool smallest_first, bool unicode)
      : sorted_(sorted), smallest_first_(smallest_first), unicode_(unicode) {}

  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] bool shows(std::size_t column) const;
  void header(Canvas& canvas, int row, int column) const;
  /// The column at an offset from where the numbers begin; nothing where there is none.
  [[nodiscard]] std::optional<std::size_t> column_at(int offset) const;

 protected:
  /// With a sign where rows are sorted by it.
  [[nodiscard]] std::string heading(std::size_t column, const std::string& text) const;
  /// Adds a column, unless it takes more than what is left of `room` columns of the screen; the first always
  /// gets in.
  bool add(const std::vector<Part>& parts, int room);
  void write(Canvas& canvas, int row, int column, const std::function<Span(const Part&)>& cell) const;

  static constexpr int kGap = 2;

 private:
  std::vector<Part> parts_;
  int width_ = 0;
  std::size_t sorted_;
  bool smallest_first_, unicode_;
};

}  // namespace culprit::viewer::tui
