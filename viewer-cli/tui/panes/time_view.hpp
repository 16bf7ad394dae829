#pragma once

#include "tui/panes/calls_grid.hpp"
#include "tui/panes/time_grid.hpp"
#include "tui/state/findings.hpp"
#include "tui/state/workspace.hpp"
#include "tui/widgets/host.hpp"
#include "tui/widgets/scroll.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace culprit::viewer::tui {

/// Which map of ranks over time is looked at, which part of it, and where the cursor is. The map of code,
/// looked at from near, becomes one of single calls.
class TimeView {
 public:
  /// `findings` must outlive this: until they are formed, there is nothing to show.
  TimeView(Workspace& workspace, const FindingsTask& findings) : workspace_(workspace), findings_(findings) {}

  /// Makes the map where there is none yet. False: there is nothing to show.
  bool has_map();
  /// Null before has_map() made it.
  [[nodiscard]] const TimeGrid* grid() const { return grid_.get(); }
  /// The same where it is one of single calls, else null.
  [[nodiscard]] const CallsGrid* near() const { return near_; }
  /// Another one whenever the map shows something else.
  [[nodiscard]] std::uint64_t edition() const { return edition_; }
  /// What the parts of the map are; empty where it shows amounts.
  [[nodiscard]] const std::vector<std::string>& legend() const { return legend_; }

  [[nodiscard]] const TimeChoice& choice() const { return choice_; }
  void show(const TimeChoice& choice);
  void show_next(bool backwards);
  /// The level of iterations.
  [[nodiscard]] std::size_t level() const { return level_; }
  void show_next_level();
  /// Shows iterations, with the cursor on a rank and a segment.
  void point_at(const Target& target);

  /// The part of the map, with the cursor.
  [[nodiscard]] const Window& ranks() const { return ranks_; }
  [[nodiscard]] const Window& segments() const { return segments_; }
  /// To the next column of `cells` drawn, and past a call that is wider; to the next of `lines`.
  void move_in_time(bool forward, std::size_t cells);
  void move_to_rank(bool forward, std::size_t lines);
  void page(bool forward);
  void put_cursor(std::size_t rank, std::size_t segment);
  /// Around the cursor.
  void zoom(bool in);
  void show_all();
  /// To where the rank that the call under the cursor waited for ended that wait. False: that is not known.
  bool go_to_whom_it_waited_for();

  /// Has the calls read that are looked at, and takes what was read.
  void want_calls();
  /// Whether there is more to draw of what is being read.
  bool calls_came();
  [[nodiscard]] bool reading() const { return calls_ && calls_->reading(); }

 private:
  void come_near();
  void go_far();
  void fit();

  Workspace& workspace_;
  const FindingsTask& findings_;
  std::size_t level_ = 0;
  TimeChoice choice_;
  std::unique_ptr<SingleCalls> calls_;  ///< made when they are first looked at
  std::unique_ptr<TimeGrid> grid_;      ///< likewise
  CallsGrid* near_ = nullptr;           ///< grid_, where it is that of single calls
  bool waits_for_calls_ = false;        ///< that are not drawn yet
  std::uint64_t edition_ = 0;
  std::vector<std::string> legend_;  ///< of grid_
  Window ranks_, segments_;
};

}  // namespace culprit::viewer::tui
