#pragma once

#include "tui/panes/pane.hpp"
#include "tui/state/workspace.hpp"
#include "tui/widgets/host.hpp"
#include "tui/widgets/scroll.hpp"
#include "tui/widgets/tree_search.hpp"
#include "views/outline.hpp"
#include "views/search.hpp"

#include <memory>
#include <optional>
#include <string>

namespace culprit::viewer::tui {

class NumberCells;

/// A view as a tree with numbers: opened and closed, sorted, searched, filtered, zoomed into.
class TreePane final : public Pane {
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
  [[nodiscard]] std::string topic() const override;

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
  using Item = views::Outline::Item;

  [[nodiscard]] Item* item() const;
  [[nodiscard]] views::OutlineOptions options() const;
  void rebuild();
  void open_first();
  void go_to(const Item* item);
  void note_choice();

  bool move(const Event& event);
  bool click(const Event& event);
  bool change_tree(const Event& event);
  bool change_numbers(const Event& event);
  bool ask_for(const Event& event);
  void go_left();
  void go_right();
  void toggle();
  void mark();
  void hot_path();
  void zoom();
  void zoom_out();
  void flatten(int levels);
  void sort_by(std::size_t column);
  void follow_blame();
  void ask_filter();

  void draw_header(Canvas& canvas, const Area& area, const NumberCells& numbers) const;
  [[nodiscard]] std::string remarks_on_view() const;

  Workspace& workspace_;
  Host& host_;
  std::size_t view_;
  std::unique_ptr<views::Outline> outline_;
  Scroll scroll_;
  Area drawn_;
  std::size_t first_column_ = 0;
  int flattened_ = 0;                               ///< levels of the flat view left out at the top
  std::vector<std::vector<views::NodeId>> zoomed_;  ///< the roots before each zoom

  TreeSearch<views::Search, Item*> search_;
  std::string filter_text_;
  std::optional<views::Search> filter_;
  bool filter_wanted_ = false;  ///< the filter is still being looked for
};

}  // namespace culprit::viewer::tui
