#pragma once

#include "follow/summary.hpp"
#include "tui/follow_tree.hpp"
#include "tui/widgets/canvas.hpp"
#include "tui/widgets/event.hpp"
#include "tui/widgets/scroll.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace culprit::viewer::tui {

/// A run that goes on: sentences on the last interval and on the run so far, what each rank did at the last
/// looks, and the tree of all ranks' call paths, the hottest first. Knows no terminal.
class FollowScreen {
 public:
  FollowScreen(std::string directory, double every_s, bool unicode)
      : directory_(std::move(directory)), pause_s_(every_s), unicode_(unicode) {}

  /// How long it is to the next look, in seconds.
  void set_pause(double pause_s) { pause_s_ = pause_s; }
  /// What the last look found. While the screen is held, it shows what it showed.
  void take(follow::Summary summary, const follow::LiveTree& tree);
  void draw(Canvas& canvas);
  void handle(const Event& event);
  [[nodiscard]] bool finished() const { return finished_; }

 private:
  struct History {
    std::deque<follow::State> states;
  };

  int draw_sentences(Canvas& canvas, int row) const;
  int draw_ranks(Canvas& canvas, int row, int most) const;
  void draw_rank(Canvas& canvas, int row, const follow::RankRow& rank) const;
  int draw_many_ranks(Canvas& canvas, int row, int most) const;
  void draw_tree(Canvas& canvas, int row);
  void draw_help(Canvas& canvas) const;
  void open(bool open);
  void sort(FollowTree::Order order, bool by_interval);
  [[nodiscard]] const follow::Part& part() const { return by_interval_ ? summary_.interval : summary_.whole; }

  std::string directory_;
  double pause_s_;  ///< between looks
  bool unicode_;
  follow::Summary summary_;
  std::map<std::uint64_t, History> history_;  ///< by the key of the measurement
  FollowTree tree_;
  Scroll scroll_;
  std::uint32_t at_ = 0;  ///< the node under the cursor
  FollowTree::Order order_ = FollowTree::Order::time;
  bool by_interval_ = true, held_ = false, help_ = false, finished_ = false;
};

}  // namespace culprit::viewer::tui
