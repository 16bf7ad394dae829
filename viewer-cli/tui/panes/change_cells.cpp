#include "tui/panes/change_cells.hpp"

#include "text/shorten.hpp"
#include "tree/change_words.hpp"

#include <algorithm>
#include <cmath>

namespace culprit::viewer::tui {
namespace {

constexpr double kPercent = 100;
constexpr double kNotable = 0.05, kLarge = 0.25;  // of the total: changes that stand out

constexpr double kLeastShare = 0.0005;  // 0.1 % when rounded

/// Sums of sums leave dust where a scope was not in a run.
constexpr double kDust = 1e-9;

bool rounds_to_nothing(const Scale& scale, double value) {
  return scale.write(value).find_first_of("123456789") == std::string::npos;
}

}  // namespace

ChangeCells::ChangeCells(const Comparison& comparison, bool unicode, int room, Change sorted,
                         bool smallest_first)
    : Cells(static_cast<std::size_t>(sorted), smallest_first, unicode),
      comparison_(comparison),
      whole_(std::max(std::abs(comparison.difference()->total_a()),
                      std::abs(comparison.difference()->total_b()))),
      scale_(scale_for(whole_, comparison.difference()->column().unit, unicode)) {
  const auto digits = static_cast<int>(columns(scale_.write(whole_)));
  for (std::size_t column = 0; column < views::kChangeNames.size(); ++column) {
    const auto which = static_cast<Change>(column);
    if (which == Change::loss && !comparison.scales()) continue;
    const bool amount = which == Change::change || which == Change::before || which == Change::after;
    const int least = which == Change::change ? digits + 1 : amount ? digits : 6;
    const std::string text = heading(column, views::kChangeNames.at(column));
    if (!add({{column, false, text, std::max(least, static_cast<int>(columns(text)))}}, room)) break;
  }
}

std::string ChangeCells::text(Change which, const views::ComparedScope& scope) const {
  const double least = whole_ * kDust;
  switch (which) {
    case Change::change:
      return rounds_to_nothing(scale_, scope.change()) ? "" : with_sign(scale_.write(scope.change()));
    case Change::percent:
      return whole_ > 0 && std::abs(scope.change()) / whole_ >= kLeastShare
                 ? with_sign(grouped(scope.change() / whole_ * kPercent, 1))
                 : "";
    case Change::before:
      return std::abs(scope.a) <= least ? "" : scale_.write(scope.a);
    case Change::after:
      return std::abs(scope.b) <= least ? "" : scale_.write(scope.b);
    case Change::ratio:
      return std::abs(scope.a) <= least || std::abs(scope.b) <= least
                 ? ""
                 : ratio_text(views::Difference::ratio(scope));
    case Change::loss: {
      const auto loss = comparison_.difference()->scaling_loss(scope, comparison_.scaling());
      return loss && std::abs(*loss) >= kLeastShare ? with_sign(grouped(*loss * kPercent, 1)) : "";
    }
  }
  return {};
}

void ChangeCells::row(Canvas& canvas, int row, int column, const views::ComparedScope& scope) const {
  const double share = whole_ > 0 ? std::abs(scope.change()) / whole_ : 0;
  const Tone stands_out = share < kNotable     ? Tone::plain
                          : scope.change() < 0 ? Tone::good
                          : share >= kLarge    ? Tone::hot
                                               : Tone::warm;
  write(canvas, row, column, [&](const Part& part) -> Span {
    const auto which = static_cast<Change>(part.column);
    const bool change = which == Change::change || which == Change::percent;
    return {text(which, scope), change ? stands_out : Tone::plain};
  });
}

}  // namespace culprit::viewer::tui
