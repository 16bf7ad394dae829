#pragma once

#include "tui/panes/calls_grid.hpp"
#include "tui/panes/pane.hpp"
#include "tui/panes/time_grid.hpp"
#include "tui/state/findings.hpp"
#include "tui/state/workspace.hpp"
#include "tui/widgets/host.hpp"
#include "tui/widgets/scroll.hpp"

#include <memory>
#include <string>
#include <vector>

namespace culprit::viewer::tui {

/// A sign of the map, and what it means.
struct LegendEntry {
  char32_t sign;
  Tone tone;
  std::string name;
};

/// How long each iteration (or invocation) took outside MPI, where ranks waited or were in MPI, or in which
/// code they were: a row of bars for each rank, time to the right. A bar is the mean of what shares its
/// column; where ranks share a line, of the rank with the largest mean, so that none that is unusual
/// vanishes. The map of code, looked at from near, shows single calls.
class TimePane final : public Pane {
 public:
  /// `findings` must outlive this: until they are formed, there is nothing to show.
  TimePane(Workspace& workspace, Host& host, const FindingsTask& findings);

  [[nodiscard]] std::string name() const override { return "Time"; }
  bool handle(const Event& event) override;
  void draw(Canvas& canvas, const Area& area) override;
  [[nodiscard]] std::vector<Hint> hints() const override;
  [[nodiscard]] std::string status() const override;
  [[nodiscard]] std::string path() const override;
  [[nodiscard]] std::string topic() const override;
  [[nodiscard]] bool has_table() const override { return grid_ && choice_.of_iterations(); }
  [[nodiscard]] std::string csv() const override;
  bool work() override;
  [[nodiscard]] bool busy() const override { return calls_ && calls_->reading(); }

  /// Puts the cursor on a rank and a segment.
  void point_at(const Target& target);

 private:
  /// Null where there is nothing to show.
  [[nodiscard]] const TimeGrid* grid();
  void show(const TimeChoice& choice);
  void next_choice(bool backwards);
  void ask_choice();
  void finer();
  void move_in_time(bool forward);
  void zoom(bool in);
  void come_near();
  void go_far();
  void go_to_whom_it_waited_for();
  bool change(char32_t letter);
  bool click(const Event& event);
  void follow();
  void draw_missing(Canvas& canvas, const Area& area) const;
  void form_map(const Area& inside);
  void draw_map(Canvas& canvas, const Area& inside);
  void mark_critical();
  void draw_messages(Canvas& canvas, const Area& inside) const;
  void draw_message(Canvas& canvas, const Area& inside, const CallsGrid::Line& line) const;
  void draw_bar(Canvas& canvas, const Area& bar, std::uint64_t mean) const;
  [[nodiscard]] char32_t part_sign(int part) const;
  [[nodiscard]] std::vector<LegendEntry> legend_entries(bool tall) const;
  [[nodiscard]] int legend_lines(const Area& area) const;
  void draw_legend(Canvas& canvas, const Area& area) const;
  [[nodiscard]] std::string cell_text() const;
  void draw_axis(Canvas& canvas, const Area& axis) const;
  void draw_further_axis(Canvas& canvas, const Area& axis) const;
  void draw_path(Canvas& canvas, const Area& line) const;
  void draw_labels(Canvas& canvas, const Area& area, const Area& inside) const;

  /// What is drawn, `lines` rows of `wide` bars: the value of each.
  struct Map {
    TimeGrid::Part ranks, segments;
    std::size_t lines = 0, wide = 0;
    std::vector<std::uint64_t> cells;
    std::vector<bool> critical;             ///< likewise; empty where bars are amounts
    std::vector<CallsGrid::Line> messages;  ///< of single calls, where there are not too many
  };

  Workspace& workspace_;
  Host& host_;
  const FindingsTask& findings_;
  std::size_t finer_ = 0;  ///< which level of iterations
  TimeChoice choice_;
  std::unique_ptr<SingleCalls> calls_;  ///< made when they are first looked at
  std::unique_ptr<TimeGrid> grid_;      ///< likewise
  CallsGrid* near_ = nullptr;           ///< grid_, where it is that of single calls
  bool waits_for_calls_ = false;        ///< that are not drawn yet
  std::vector<std::string> legend_;     ///< of grid_
  Window ranks_, segments_;
  Map map_;
  int bar_height_ = 1;
  Area inside_;
};

}  // namespace culprit::viewer::tui
