#pragma once

#include "tui/widgets/canvas.hpp"

#include <vector>

namespace culprit::viewer::tui {

/// A grid of dots behind the letters of an area: two by four dots a letter in braille, one in ASCII. Several
/// series: the one set last gives a letter its tone; in ASCII each has a letter of its own.
class Dots {
 public:
  Dots(const Area& area, bool unicode);

  [[nodiscard]] int width() const { return area_.width * across_; }
  [[nodiscard]] int height() const { return area_.height * down_; }
  /// `y` counts upwards from the lower edge. Dots outside are left out.
  void set(int x, int y, int series);
  void draw(Canvas& canvas) const;
  /// A series' own mark in the place of the dots at `x` and `y`: what distinguishes series without colours.
  void mark(Canvas& canvas, int x, int y, int series) const;

  [[nodiscard]] static char32_t marker(int series, bool unicode);

 private:
  struct Spot {
    unsigned dots = 0;
    int series = -1;
  };
  Area area_;
  bool unicode_;
  int across_, down_;
  std::vector<Spot> spots_;
};

/// A bar upwards from the lower edge of an area, as wide as that and `share` of its height, in eighths of a
/// letter.
void draw_bar(Canvas& canvas, const Area& area, double share, Tone tone, bool unicode);

/// The longest of what falls to each of `cells` parts of [first, last): nothing of note vanishes.
std::vector<double> largest_in_cells(const std::vector<double>& values, std::size_t first, std::size_t last,
                                     std::size_t cells);

/// The means of the same parts.
std::vector<double> means_in_cells(const std::vector<double>& values, std::size_t first, std::size_t last,
                                   std::size_t cells);

}  // namespace culprit::viewer::tui
