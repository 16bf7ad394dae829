#include "tui/panes/change_cells.hpp"

#include "text/quantity.hpp"
#include "text/shorten.hpp"
#include "tree/change_words.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace culprit::viewer::tui {
namespace {

constexpr int kGap = 2;
constexpr double kPercent = 100;
constexpr double kNotable = 0.05, kLarge = 0.25;  // of the total: changes that stand out

constexpr double kLeastShare = 0.0005;  // 0.1 % when rounded

/// Sums of sums leave dust where a scope was not in a run.
constexpr double kDust = 1e-9;

bool rounds_to_nothing(const Scale& scale, double value) {
  return scale.write(value).find_first_of("123456789") == std::string::npos;
}

Scale scale_of(const Comparison& comparison, double whole, bool unicode) {
  return scale_for(whole, comparison.difference()->column().unit, unicode);
}

}  // namespace

ChangeCells::ChangeCells(const Comparison& comparison, bool unicode, int room, Change sorted,
                         bool smallest_first)
    : comparison_(comparison),
      sorted_(sorted),
      whole_(std::max(std::abs(comparison.difference()->total_a()),
                      std::abs(comparison.difference()->total_b()))),
      unicode_(unicode) {
  const Scale scale = scale_of(comparison, whole_, unicode);
  unit_ = scale.unit;
  const auto digits = static_cast<int>(columns(scale.write(whole_)));
  for (std::size_t index = 0; index < kChangeNames.size(); ++index) {
    const auto which = static_cast<Change>(index);
    if (which == Change::loss && !comparison.scales()) continue;
    Part part{which, kChangeNames.at(index), 0};
    if (which == sorted)
      part.heading.insert(0, unicode ? (smallest_first ? "▲" : "▼") : (smallest_first ? "^" : "v"));
    const bool amount = which == Change::change || which == Change::before || which == Change::after;
    const int least = which == Change::change ? digits + 1 : amount ? digits : 6;
    part.width = std::max(least, static_cast<int>(columns(part.heading)));
    if (width_ + part.width + kGap > room && !parts_.empty()) break;
    width_ += part.width + kGap;
    parts_.push_back(std::move(part));
  }
}

std::string ChangeCells::text(Change which, const views::ComparedScope& scope) const {
  const Scale scale = scale_of(comparison_, whole_, unicode_);
  const double least = whole_ * kDust;
  switch (which) {
    case Change::change:
      return rounds_to_nothing(scale, scope.change()) ? "" : with_sign(scale.write(scope.change()));
    case Change::percent:
      return whole_ > 0 && std::abs(scope.change()) / whole_ >= kLeastShare
                 ? with_sign(grouped(scope.change() / whole_ * kPercent, 1))
                 : "";
    case Change::before:
      return std::abs(scope.a) <= least ? "" : scale.write(scope.a);
    case Change::after:
      return std::abs(scope.b) <= least ? "" : scale.write(scope.b);
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

void ChangeCells::header(Canvas& canvas, int row, int column) const {
  for (const Part& part : parts_) {
    const Tone tone = part.which == sorted_ ? Tone::strong : Tone::heading;
    const auto length = static_cast<int>(columns(part.heading));
    canvas.write(row, column + part.width - length, part.heading, tone, part.width);
    column += part.width + kGap;
  }
}

void ChangeCells::row(Canvas& canvas, int row, int column, const views::ComparedScope& scope) const {
  const double share = whole_ > 0 ? std::abs(scope.change()) / whole_ : 0;
  for (const Part& part : parts_) {
    Tone tone = Tone::plain;
    if (part.which == Change::change || part.which == Change::percent) {
      if (share >= kNotable)
        tone = scope.change() < 0 ? Tone::good : share >= kLarge ? Tone::hot : Tone::warm;
    }
    const std::string digits = text(part.which, scope);
    const auto length = static_cast<int>(columns(digits));
    canvas.write(row, column + std::max(part.width - length, 0), digits, tone, part.width);
    column += part.width + kGap;
  }
}

std::optional<Change> ChangeCells::column_at(int offset) const {
  int begin = 0;
  for (const Part& part : parts_) {
    if (offset >= begin && offset < begin + part.width + kGap) return part.which;
    begin += part.width + kGap;
  }
  return std::nullopt;
}

double change_key(const Comparison& comparison, Change which, const views::ComparedScope& scope) {
  constexpr double kLast = -std::numeric_limits<double>::infinity();
  switch (which) {
    case Change::change:
    case Change::percent:
      return std::abs(scope.change());
    case Change::before:
      return scope.a;
    case Change::after:
      return scope.b;
    case Change::ratio:
      return views::Difference::ratio(scope).value_or(kLast);
    case Change::loss:
      return comparison.difference()->scaling_loss(scope, comparison.scaling()).value_or(kLast);
  }
  return 0;
}

}  // namespace culprit::viewer::tui
