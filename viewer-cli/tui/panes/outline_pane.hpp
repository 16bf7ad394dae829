#pragma once

#include "tui/panes/pane.hpp"
#include "tui/state/workspace.hpp"
#include "tui/widgets/host.hpp"
#include "tui/widgets/scroll.hpp"
#include "tui/widgets/tree_search.hpp"
#include "views/outline.hpp"
#include "views/search.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace culprit::viewer::tui {

/// A tree that is opened, closed and searched: what a view and a comparison have in common.
class OutlinePane : public Pane {
 public:
  bool handle(const Event& event) override;
  bool work() override { return search_.work(); }

 protected:
  using Item = views::Outline::Item;

  /// `heading`: lines above the tree.
  OutlinePane(Workspace& workspace, Host& host, int heading);

  [[nodiscard]] virtual views::View& shown_view() = 0;
  /// The cursor may be on another node.
  virtual void note_choice() = 0;
  /// Keys that this pane alone has.
  virtual bool handle_own(const Event& event) = 0;
  /// A click into the lines above the tree, `column` columns from the left edge.
  virtual void click_heading(int line, int column) = 0;
  [[nodiscard]] virtual std::string nothing_below(const Item& item) const = 0;

  /// Under the cursor; null where nothing is shown.
  [[nodiscard]] Item* item() const;
  void go_to(const Item* item);
  /// Draws the rows below the heading, each by draw_row(area of the row, item), which returns the columns of
  /// the name: from its first one up to the second.
  using DrawRow = std::function<std::pair<int, int>(const Area& area, Item& item)>;
  void draw_outline(Canvas& canvas, const Area& area, const DrawRow& draw_row);

  Workspace& workspace_;
  Host& host_;
  std::unique_ptr<views::Outline> outline_;
  Scroll scroll_;
  Area drawn_;
  TreeSearch search_;

 private:
  bool move(const Event& event);
  void click(const Event& event);
  bool change_tree(const Event& event);
  void go_left();
  void go_right();
  void toggle();

  int heading_;
};

}  // namespace culprit::viewer::tui
