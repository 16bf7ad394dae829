#pragma once

#include "tui/state/comparison.hpp"
#include "tui/widgets/canvas.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace culprit::viewer::tui {

/// The columns of a comparison, in their order.
enum class Change : std::uint8_t { change, percent, before, after, ratio, loss };
inline constexpr std::array<const char*, 6> kChangeNames = {"change", "%",     "before",
                                                            "after",  "ratio", "loss %"};

/// The numbers in front of a tree of changes: as many columns as there is room for.
class ChangeCells {
 public:
  /// `comparison` has a difference; it must outlive this.
  ChangeCells(const Comparison& comparison, bool unicode, int room, Change sorted, bool smallest_first);

  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] const std::string& unit() const { return unit_; }
  void header(Canvas& canvas, int row, int column) const;
  void row(Canvas& canvas, int row, int column, const views::ComparedScope& scope) const;
  [[nodiscard]] std::optional<Change> column_at(int offset) const;

 private:
  struct Part {
    Change which;
    std::string heading;
    int width = 0;
  };
  [[nodiscard]] std::string text(Change which, const views::ComparedScope& scope) const;

  const Comparison& comparison_;
  std::vector<Part> parts_;
  Change sorted_;
  double whole_ = 0;
  std::string unit_;
  bool unicode_;
  int width_ = 0;
};

/// What the column orders by, the largest first: changes by their size, whatever their sign.
double change_key(const Comparison& comparison, Change which, const views::ComparedScope& scope);

}  // namespace culprit::viewer::tui
