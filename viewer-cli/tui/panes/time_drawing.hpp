#pragma once

#include "tui/panes/calls_grid.hpp"
#include "tui/panes/time_view.hpp"
#include "tui/state/workspace.hpp"
#include "tui/widgets/canvas.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace culprit::viewer::tui {

/// A sign of the map, and what it means.
struct LegendEntry {
  char32_t sign;
  Tone tone;
  std::string name;
};

/// The map of a TimeView on the screen, with its legend, labels and axes.
class TimeDrawing {
 public:
  /// Both must outlive this.
  TimeDrawing(const Workspace& workspace, const TimeView& view) : workspace_(workspace), view_(view) {}

  /// Where there is something to show.
  void draw(Canvas& canvas, const Area& area);

  /// How many rows and columns of bars are drawn; 0 where the view shows another map by now.
  [[nodiscard]] std::size_t lines() const { return is_drawn() ? map_.lines : 0; }
  [[nodiscard]] std::size_t wide() const { return is_drawn() ? map_.wide : 0; }
  /// Where they were drawn last.
  [[nodiscard]] const Area& inside() const { return inside_; }

 private:
  [[nodiscard]] const TimeGrid& grid() const { return *view_.grid(); }
  [[nodiscard]] bool is_drawn() const { return map_.edition == view_.edition(); }
  void form_map();
  void draw_map(Canvas& canvas);
  void mark_critical();
  void draw_messages(Canvas& canvas) const;
  void draw_message(Canvas& canvas, const CallsGrid::Line& line) const;
  void draw_bar(Canvas& canvas, const Area& bar, std::uint64_t mean) const;
  [[nodiscard]] char32_t part_sign(int part) const;
  [[nodiscard]] std::vector<LegendEntry> legend_entries(bool tall) const;
  [[nodiscard]] int legend_lines(const Area& area) const;
  void draw_legend(Canvas& canvas, const Area& area) const;
  [[nodiscard]] std::string cell_text() const;
  void draw_axis(Canvas& canvas, const Area& axis) const;
  void draw_further_axis(Canvas& canvas, const Area& axis) const;
  void draw_path(Canvas& canvas, const Area& line) const;
  void draw_labels(Canvas& canvas, const Area& area) const;

  /// What is drawn, `lines` rows of `wide` bars: the value of each.
  struct Map {
    std::uint64_t edition = 0;  ///< of the view
    TimeGrid::Part ranks, segments;
    std::size_t lines = 0, wide = 0;
    std::vector<std::uint64_t> cells;
    std::vector<bool> critical;             ///< likewise; empty where bars are amounts
    std::vector<CallsGrid::Line> messages;  ///< of single calls, where there are not too many
  };

  const Workspace& workspace_;
  const TimeView& view_;
  Map map_;
  int bar_height_ = 1;
  Area inside_;
};

}  // namespace culprit::viewer::tui
