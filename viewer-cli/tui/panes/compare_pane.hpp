#pragma once

#include "tui/panes/change_cells.hpp"
#include "tui/panes/pane.hpp"
#include "tui/state/comparison.hpp"
#include "tui/state/workspace.hpp"
#include "tui/widgets/host.hpp"
#include "tui/widgets/scroll.hpp"
#include "tui/widgets/tree_search.hpp"
#include "views/difference_outline.hpp"
#include "views/difference_search.hpp"

#include <memory>
#include <string>

namespace culprit::viewer::tui {

/// Two runs as a tree of changes: before, after, what is new and what is gone. The first run is the one that
/// the other panes show.
class ComparePane final : public Pane {
 public:
  /// `comparison` must outlive this.
  ComparePane(Workspace& workspace, Host& host, Comparison& comparison);

  [[nodiscard]] std::string name() const override { return "Diff"; }
  bool handle(const Event& event) override;
  void draw(Canvas& canvas, const Area& area) override;
  [[nodiscard]] std::vector<Hint> hints() const override;
  [[nodiscard]] std::string status() const override;
  bool work() override;
  void figures_changed() override;
  void shown() override { note_choice(); }

 private:
  [[nodiscard]] const views::DifferenceOutline::Row* row() const;
  [[nodiscard]] std::uint32_t scope() const;
  [[nodiscard]] const views::ComparedScope& compared(std::uint32_t scope) const;
  void rebuild();
  void go_to(std::uint32_t scope);
  void note_choice();
  void sort_by(Change order);

  bool move(const Event& event);
  bool click(const Event& event);
  bool change_tree(char32_t letter);
  bool change_numbers(char32_t letter);
  void go_left();
  void go_right();
  void toggle();
  void choose_metric();
  void turn_scaling();

  void draw_heading(Canvas& canvas, const Area& area) const;
  void draw_row(Canvas& canvas, const Area& area, int line, std::size_t row, const ChangeCells& cells) const;
  [[nodiscard]] std::string guides(const views::DifferenceOutline::Row& row) const;

  Workspace& workspace_;
  Host& host_;
  Comparison& comparison_;
  std::unique_ptr<views::DifferenceOutline> outline_;
  Scroll scroll_;
  Area drawn_;
  Change sort_ = Change::change;
  bool smallest_first_ = false;
  TreeSearch<views::DifferenceSearch, std::uint32_t> search_;
};

}  // namespace culprit::viewer::tui
