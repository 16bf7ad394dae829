#pragma once

#include "tui/panes/findings_pane.hpp"
#include "tui/panes/pane.hpp"
#include "tui/panes/tree_pane.hpp"
#include "tui/state/comparison.hpp"
#include "tui/state/findings.hpp"
#include "tui/state/workspace.hpp"
#include "tui/widgets/canvas.hpp"
#include "tui/widgets/host.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace culprit::viewer::tui {

class ComparePane;
class RanksPane;
class SourcePane;
class TimePane;

/// The panes of the browser, one in front, and how they share the screen: beside a tree there is room for the
/// source and the ranks of what is chosen.
class Tabs {
 public:
  /// All must outlive this.
  Tabs(Workspace& workspace, Host& host, FindingsTask& findings);
  ~Tabs();

  [[nodiscard]] Pane& front() const { return *panes_[front_]; }
  [[nodiscard]] std::size_t front_index() const { return front_; }
  [[nodiscard]] std::size_t size() const { return panes_.size(); }
  void select(std::size_t tab);
  /// To the one after it, or before it.
  void select_next(bool backwards);
  /// False: no pane has that name.
  bool select(const std::string& name);
  /// Where a view as a tree is in front: its index.
  [[nodiscard]] std::optional<std::size_t> front_view() const;

  /// A last pane that shows a second run; must outlive this or be closed.
  void open_comparison(Comparison& comparison);
  void close_comparison();
  [[nodiscard]] bool comparison_in_front() const;

  [[nodiscard]] TreePane& tree(std::size_t view) { return *trees_.at(view); }
  [[nodiscard]] SourcePane& source() { return *source_; }
  [[nodiscard]] TimePane& time() { return *time_; }
  [[nodiscard]] FindingsPane& findings() { return *findings_; }

  /// The bar of names, and what was clicked in it.
  void draw_names(Canvas& canvas);
  void click(int column);
  void draw_panes(Canvas& canvas, const Area& area);
  /// As Pane has them, of what is drawn, and of all panes.
  bool work();
  [[nodiscard]] bool busy() const;
  void figures_changed();

 private:
  [[nodiscard]] bool has_others_below() const;
  void draw_below(Canvas& canvas, const Area& area);

  Workspace& workspace_;
  Host& host_;
  std::vector<std::unique_ptr<Pane>> panes_;  ///< in order
  std::array<TreePane*, Workspace::kViews> trees_{};
  FindingsPane* findings_ = nullptr;
  SourcePane* source_ = nullptr;
  RanksPane* ranks_ = nullptr;
  TimePane* time_ = nullptr;
  ComparePane* compare_ = nullptr;
  std::size_t front_ = 0;
  std::vector<std::pair<int, int>> places_;  ///< first and last column of each name, as last drawn
};

}  // namespace culprit::viewer::tui
