#pragma once

#include "tree/diff_text.hpp"
#include "tui/panes/outline_pane.hpp"
#include "tui/state/comparison.hpp"
#include "tui/widgets/page.hpp"
#include "views/compared.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace culprit::viewer::tui {

using views::Change;

/// The columns of a comparison.
class ChangeCells final : public Cells {
 public:
  /// `comparison` has a difference; it must outlive this.
  ChangeCells(const Comparison& comparison, bool unicode, int room, Change sorted, bool smallest_first);

  [[nodiscard]] const std::string& unit() const { return text_.scale().unit; }
  void row(Canvas& canvas, int row, int column, const views::ComparedScope& scope) const;

 private:
  ChangeText text_;
};

/// Two runs as a tree of changes: before, after, what is new and what is gone. The first run is the one that
/// the other panes show.
class ComparePane final : public OutlinePane {
 public:
  /// `comparison` must outlive this.
  ComparePane(Workspace& workspace, Host& host, Comparison& comparison);

  [[nodiscard]] std::string name() const override { return "Diff"; }
  void draw(Canvas& canvas, const Area& area) override;
  [[nodiscard]] std::vector<Hint> hints() const override;
  [[nodiscard]] std::string status() const override;
  bool work() override;
  void figures_changed() override;
  [[nodiscard]] bool has_table() const override { return comparison_.difference() != nullptr; }
  [[nodiscard]] std::string csv() const override { return comparison_.csv(); }
  void shown() override { note_choice(); }

 private:
  [[nodiscard]] views::View& shown_view() override { return *view_; }
  void note_choice() override;
  bool handle_own(const Event& event) override;
  void click_heading(int line, int column) override;
  [[nodiscard]] std::string nothing_below(const Item& item) const override;

  void rebuild();
  void sort_by(std::size_t column);
  void choose_metric();
  void turn_scaling();

  [[nodiscard]] ChangeCells cells(int width) const;
  void draw_heading(Canvas& canvas, const Area& area) const;
  std::pair<int, int> draw_row(Canvas& canvas, const Area& area, const ChangeCells& cells, Item& item) const;

  Comparison& comparison_;
  std::unique_ptr<views::Compared> view_;  ///< where there is an outline
  std::size_t sort_ = 0;
  bool smallest_first_ = false;
};

}  // namespace culprit::viewer::tui
