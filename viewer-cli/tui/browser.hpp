#pragma once

#include "tui/panes/findings_pane.hpp"
#include "tui/panes/pane.hpp"
#include "tui/panes/tree_pane.hpp"
#include "tui/state/comparison.hpp"
#include "tui/state/findings.hpp"
#include "tui/state/workspace.hpp"
#include "tui/widgets/canvas.hpp"
#include "tui/widgets/event.hpp"
#include "tui/widgets/host.hpp"
#include "tui/widgets/overlay.hpp"

#include <array>
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

/// The whole browser as state that events change and that is drawn on a canvas; no terminal is involved.
class Browser final : public Host {
 public:
  /// What one database is browsed with; must outlive this.
  Browser(Workspace& workspace, FindingsTask& findings);
  ~Browser() override;

  void handle(const Event& event);
  void draw(Canvas& canvas);
  /// Goes on with what takes long, for a few milliseconds; true: there is more to do.
  bool work();
  [[nodiscard]] bool finished() const { return finished_; }

  /// Shows a second run beside this one, in place of the one before, and goes there.
  void compare(OtherRun other);
  /// What the user asked to be put into the clipboard since this was last called.
  [[nodiscard]] std::optional<std::string> take_copied() { return std::exchange(copied_, std::nullopt); }
  /// Whether something is being read or formed that nobody needs to wait for at the end.
  [[nodiscard]] bool busy() const;

  void go(const Target& target) override;
  void switch_to(const std::string& name) override;
  void notify(const std::string& text) override { message_ = text; }
  void ask(Prompt prompt) override { prompt_.emplace(std::move(prompt)); }
  void choose(Menu menu) override { menu_.emplace(std::move(menu)); }
  void show(const std::string& title, Page page) override;
  void figures_changed() override;

  [[nodiscard]] const std::string& message() const { return message_; }
  [[nodiscard]] std::string tab() const { return panes_[tab_]->name(); }
  [[nodiscard]] TreePane& tree(std::size_t view) { return *trees_.at(view); }
  [[nodiscard]] SourcePane& source() { return *source_; }
  [[nodiscard]] RanksPane& ranks() { return *ranks_; }
  [[nodiscard]] TimePane& time() { return *time_; }
  [[nodiscard]] FindingsPane& findings() { return *findings_; }

 private:
  [[nodiscard]] bool answer_overlay(const Event& event);
  [[nodiscard]] bool handle_everywhere(const Event& event);
  [[nodiscard]] bool handle_letter(char32_t letter);
  [[nodiscard]] bool handle_function(int number);
  bool click(const Event& event);
  void select_tab(std::size_t tab);
  void explain();
  void go_back();
  [[nodiscard]] bool is_tree(std::size_t tab) const;
  [[nodiscard]] bool has_others_below(std::size_t tab) const;
  void ask_other_run();
  void copy_path();
  void ask_file();
  [[nodiscard]] std::string screen_text();

  void draw_tabs(Canvas& canvas);
  void draw_body(Canvas& canvas, const Area& area);
  void draw_beside_tree(Canvas& canvas, const Area& area);
  void draw_bottom(Canvas& canvas);
  void draw_hints(Canvas& canvas, int row);

  Workspace& workspace_;
  FindingsTask& task_;
  std::unique_ptr<Comparison> comparison_;    ///< where there is a second run
  std::vector<std::unique_ptr<Pane>> panes_;  ///< the tabs, in order
  std::array<TreePane*, Workspace::kViews> trees_{};
  FindingsPane* findings_ = nullptr;
  SourcePane* source_ = nullptr;
  RanksPane* ranks_ = nullptr;
  TimePane* time_ = nullptr;
  ComparePane* compare_ = nullptr;
  std::size_t tab_ = 0;
  std::vector<std::pair<std::size_t, std::optional<NodeRef>>> came_from_;

  std::optional<PromptLine> prompt_;
  std::optional<MenuBox> menu_;
  std::optional<PageBox> box_;
  std::string message_;
  std::optional<std::string> copied_;
  std::vector<std::pair<int, int>> tab_places_;  ///< first and last column of each, as last drawn
  bool finished_ = false;
  int width_ = 80, height_ = 24;  ///< as last drawn
};

}  // namespace culprit::viewer::tui
