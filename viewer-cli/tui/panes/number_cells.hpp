#pragma once

#include "tui/state/workspace.hpp"
#include "tui/widgets/canvas.hpp"

#include <optional>
#include <string>
#include <vector>

namespace culprit::viewer::tui {

/// The numbers in front of a tree: as many columns as there is room for, beginning with a chosen one. The
/// column that is sorted by shows amounts and shares, the others what the workspace says.
class NumberCells {
 public:
  /// `room`: columns of the screen that the numbers may take. `first`: how many columns are scrolled away.
  NumberCells(Workspace& workspace, std::size_t first, int room);

  [[nodiscard]] int width() const { return width_; }
  /// Whether the column is among those shown.
  [[nodiscard]] bool shows(std::size_t column) const;

  void header(Canvas& canvas, int row, int column) const;
  /// Where time is among the columns and no figure of the node is anything, it says that nothing was sampled.
  void row(Canvas& canvas, int row, int column, const NodeRef& ref) const;

  /// The column at an offset from where the numbers begin; nothing where there is none.
  [[nodiscard]] std::optional<std::size_t> column_at(int offset) const;

 private:
  struct Part {
    std::size_t column = 0;
    bool share = false;
    int width = 0;
    std::string heading;
  };
  [[nodiscard]] Part part(std::size_t column, bool share) const;
  [[nodiscard]] std::string text(const Part& part, double value) const;

  Workspace& workspace_;
  std::vector<Part> parts_;
  int width_ = 0;
  bool tells_time_ = false;
};

/// How much a share of the whole stands out.
Tone tone_of_share(double share);

}  // namespace culprit::viewer::tui
