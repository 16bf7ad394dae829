#include "tui/widgets/plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace culprit::viewer::tui {

Dots::Dots(const Area& area, bool unicode)
    : area_(area),
      unicode_(unicode),
      across_(unicode ? 2 : 1),
      down_(unicode ? 4 : 1),
      spots_(static_cast<std::size_t>(std::max(area.height, 0)) *
             static_cast<std::size_t>(std::max(area.width, 0))) {}

void Dots::set(int x, int y, int series) {
  if (x < 0 || y < 0 || x >= width() || y >= height()) return;
  // Numbers of the dots of a braille letter, by line from the top.
  constexpr std::array<std::array<unsigned, 2>, 4> kBits = {
      {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}};
  const int from_top = height() - 1 - y;
  Spot& spot = spots_[static_cast<std::size_t>(from_top / down_) * static_cast<std::size_t>(area_.width) +
                      static_cast<std::size_t>(x / across_)];
  spot.dots |=
      unicode_
          ? kBits.at(static_cast<std::size_t>(from_top % down_)).at(static_cast<std::size_t>(x % across_))
          : 1U;
  spot.series = series;
}

char32_t Dots::marker(int series, bool unicode) {
  constexpr std::array<char32_t, kSeries> kLetters = {U'*', U'o', U'x', U'+'};
  constexpr std::array<char32_t, kSeries> kShapes = {U'●', U'▲', U'■', U'◇'};
  return (unicode ? kShapes : kLetters).at(static_cast<std::size_t>(series % kSeries));
}

void Dots::mark(Canvas& canvas, int x, int y, int series) const {
  if (x < 0 || y < 0 || x >= width() || y >= height()) return;
  canvas.put(area_.row + (height() - 1 - y) / down_, area_.column + x / across_, marker(series, unicode_),
             series_tone(series));
}

void Dots::draw(Canvas& canvas) const {
  constexpr char32_t kBraille = 0x2800;
  for (int row = 0; row < area_.height; ++row) {
    for (int column = 0; column < area_.width; ++column) {
      const Spot& spot = spots_[static_cast<std::size_t>(row) * static_cast<std::size_t>(area_.width) +
                                static_cast<std::size_t>(column)];
      if (spot.dots == 0) continue;
      canvas.put(area_.row + row, area_.column + column,
                 unicode_ ? kBraille + spot.dots : marker(spot.series, false), series_tone(spot.series));
    }
  }
}

void draw_bar(Canvas& canvas, const Area& area, double share, Tone tone, bool unicode) {
  constexpr int kEighths = 8;
  const double cells = std::clamp(share, 0.0, 1.0) * area.height;
  auto eighths = static_cast<int>(std::lround(cells * kEighths));
  if (share > 0 && eighths == 0) eighths = 1;  // something is there
  for (int up = 0; up < area.height && eighths > 0; ++up, eighths -= kEighths) {
    const int part = std::min(eighths, kEighths);
    if (!unicode && part < kEighths / 2 && up > 0) break;
    const char32_t letter = unicode ? static_cast<char32_t>(U'▁' + static_cast<char32_t>(part - 1)) : U'#';
    for (int at = area.column; at < area.column + area.width; ++at)
      canvas.put(area.row + area.height - 1 - up, at, letter, tone);
  }
}

std::vector<double> largest_in_cells(const std::vector<double>& values, std::size_t first, std::size_t last,
                                     std::size_t cells) {
  std::vector<double> largest(cells, 0);
  for (std::size_t at = first; at < last && at < values.size(); ++at) {
    double& cell = largest[(at - first) * cells / (last - first)];
    cell = std::max(cell, values[at]);
  }
  return largest;
}

std::vector<double> means_in_cells(const std::vector<double>& values, std::size_t first, std::size_t last,
                                   std::size_t cells) {
  std::vector<double> means(cells, 0);
  std::vector<std::size_t> counts(cells, 0);
  for (std::size_t at = first; at < last && at < values.size(); ++at) {
    const std::size_t cell = (at - first) * cells / (last - first);
    means[cell] += values[at];
    ++counts[cell];
  }
  for (std::size_t cell = 0; cell < cells; ++cell)
    means[cell] /= std::max<double>(1, static_cast<double>(counts[cell]));
  return means;
}

}  // namespace culprit::viewer::tui
