#include "trace/segment_picture.hpp"

#include "text/prose.hpp"
#include "text/quantity.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace culprit::viewer {
namespace {

using database::Variation;

constexpr std::size_t kRowsDrawn = 32;  // ranks; more share a line
constexpr std::size_t kLabel = 14;      // columns for `ranks 123-456  `
constexpr std::array<const char*, 9> kBlocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<const char*, 9> kLetters = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};

/// The highest of the ranks' segments that share a cell of the picture: outliers must not vanish.
class Picture {
 public:
  Picture(const SegmentRows& rows, std::size_t columns) {
    for (const auto& row : rows) longest_ = std::max(longest_, row.size());
    columns_ = std::max<std::size_t>(1, std::min(columns, longest_));
    rows_ = std::min(kRowsDrawn, rows.size());
    cells_.resize(rows_ * columns_);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (std::size_t i = 0; i < rows[r].size(); ++i) {
        std::uint64_t& cell = cells_[line_of(r, rows.size()) * columns_ + i * columns_ / longest_];
        cell = std::max(cell, rows[r][i]);
        most_ = std::max(most_, rows[r][i]);
      }
    }
  }

  /// Which line a row is in.
  [[nodiscard]] std::size_t line_of(std::size_t row, std::size_t rows) const { return row * rows_ / rows; }
  [[nodiscard]] std::size_t lines() const { return rows_; }
  [[nodiscard]] std::size_t segments() const { return longest_; }
  [[nodiscard]] std::uint64_t most() const { return most_; }

  void write_line(std::ostream& out, const Screen& screen, std::size_t line, std::uint64_t median) const {
    for (std::size_t c = 0; c < columns_; ++c) {
      const std::uint64_t value = cells_[line * columns_ + c];
      const auto level =
          most_ == 0
              ? 0
              : std::min<std::size_t>(8, static_cast<std::size_t>(std::lround(
                                             8.0 * static_cast<double>(value) / static_cast<double>(most_))));
      const double above = median == 0 ? 0 : static_cast<double>(value) / static_cast<double>(median) - 1;
      out << screen.heat(above, (screen.unicode ? kBlocks : kLetters).at(level));
    }
    out << '\n';
  }

 private:
  std::size_t longest_ = 0, columns_ = 1, rows_ = 0;
  std::uint64_t most_ = 0;
  std::vector<std::uint64_t> cells_;
};

}  // namespace

SegmentRows sos_times(const Variation& variation) {
  SegmentRows rows;
  rows.reserve(variation.rows.size());
  for (const Variation::Row& row : variation.rows) rows.emplace_back(row.sos_ns);
  return rows;
}

const char* segment_name(const Variation& variation) {
  return variation.marked ? "iteration" : "invocation";
}

void draw_segments(std::ostream& out, const Screen& screen, const Variation& variation,
                   const SegmentRows& values, std::uint64_t median,
                   const std::function<std::string(std::uint64_t)>& amount) {
  const Picture picture(values, screen.width > kLabel + 10 ? screen.width - kLabel : 10);
  std::size_t row = 0;
  for (std::size_t line = 0; line < picture.lines(); ++line) {
    const std::size_t first = row;
    while (row < variation.rows.size() && picture.line_of(row, variation.rows.size()) == line) ++row;
    std::string label = (row - first > 1 ? "ranks " : "rank ") + std::to_string(variation.rows[first].rank);
    if (row - first > 1) label += "-" + std::to_string(variation.rows[row - 1].rank);
    out << label << std::string(label.size() < kLabel ? kLabel - label.size() : 1, ' ');
    picture.write_line(out, screen, line, median);
  }
  out << screen.dim(wrap("Left to right: " + keep(counted(picture.segments(), segment_name(variation))) +
                             "; a full block is " + keep(amount(picture.most())) + ".",
                         screen.width))
      << '\n';
}

}  // namespace culprit::viewer
