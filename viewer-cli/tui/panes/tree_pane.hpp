#pragma once

#include "tui/panes/outline_pane.hpp"

#include <optional>
#include <string>
#include <vector>

namespace culprit::viewer::tui {

class NumberCells;

/// A view as a tree with numbers: opened and closed, sorted, searched, filtered, zoomed into.
class TreePane final : public OutlinePane {
 public:
  /// `view`: which of the workspace's.
  TreePane(Workspace& workspace, Host& host, std::size_t view);

  [[nodiscard]] std::string name() const override;
  bool handle(const Event& event) override;
  void draw(Canvas& canvas, const Area& area) override;
  [[nodiscard]] std::vector<Hint> hints() const override;
  [[nodiscard]] std::string status() const override;
  bool work() override;
  void figures_changed() override;
  void shown() override;
  [[nodiscard]] std::string path() const override;
  [[nodiscard]] std::string topic() const override;
  [[nodiscard]] bool has_table() const override { return true; }
  [[nodiscard]] std::string csv() const override;

  /// Puts the cursor on a node, or on the nearest visible one above it.
  void reveal(views::NodeId node);
  [[nodiscard]] std::string view_name() const { return std::string(workspace_.view(view_).name()); }
  [[nodiscard]] std::string id_of(views::NodeId node) const { return workspace_.view(view_).id(node); }
  /// The node under the cursor.
  [[nodiscard]] std::optional<NodeRef> current() const;

  /// Shows only paths through nodes that match; empty: everything.
  void set_filter(const std::string& pattern);
  [[nodiscard]] const std::string& filter() const { return filter_text_; }

 private:
  [[nodiscard]] views::View& shown_view() override { return workspace_.view(view_); }
  void note_choice() override;
  bool handle_own(const Event& event) override;
  void click_heading(int line, int column) override;
  [[nodiscard]] std::string nothing_below(const Item& item) const override;

  [[nodiscard]] views::OutlineOptions options() const;
  void rebuild();
  void open_first();

  bool change_roots(char32_t letter);
  bool change_numbers(char32_t letter);
  bool ask_for(char32_t letter);
  void mark();
  void zoom();
  void zoom_out();
  void flatten(int levels);
  void sort_by(std::size_t column);
  void follow_blame();
  void ask_filter();

  void draw_header(Canvas& canvas, const Area& area, const NumberCells& numbers) const;
  [[nodiscard]] std::string remarks_on_view() const;

  std::size_t view_;
  std::size_t first_column_ = 0;
  int flattened_ = 0;                                    ///< levels of the flat view left out at the top
  std::vector<std::vector<views::VisibleNode>> zoomed_;  ///< the roots before each zoom; none: of the view

  std::string filter_text_;
  std::optional<views::Search> filter_;
  bool filter_wanted_ = false;  ///< the filter is still being looked for
};

}  // namespace culprit::viewer::tui
