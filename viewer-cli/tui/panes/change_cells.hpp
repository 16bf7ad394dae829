#pragma once

#include "text/quantity.hpp"
#include "tui/state/comparison.hpp"
#include "tui/widgets/cells.hpp"
#include "views/compared.hpp"

#include <string>

namespace culprit::viewer::tui {

using views::Change;

/// The columns of a comparison.
class ChangeCells final : public Cells {
 public:
  /// `comparison` has a difference; it must outlive this.
  ChangeCells(const Comparison& comparison, bool unicode, int room, Change sorted, bool smallest_first);

  [[nodiscard]] const std::string& unit() const { return scale_.unit; }
  void row(Canvas& canvas, int row, int column, const views::ComparedScope& scope) const;

 private:
  [[nodiscard]] std::string text(Change which, const views::ComparedScope& scope) const;

  const Comparison& comparison_;
  double whole_ = 0;
  Scale scale_;
};

}  // namespace culprit::viewer::tui
