#pragma once

#include "tui/state/comparison.hpp"
#include "tui/state/findings.hpp"
#include "tui/state/workspace.hpp"
#include "tui/tabs.hpp"
#include "tui/widgets/canvas.hpp"
#include "tui/widgets/event.hpp"
#include "tui/widgets/host.hpp"
#include "tui/widgets/overlay.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace culprit::viewer::tui {

/// The whole browser as state that events change and that is drawn on a canvas; no terminal is involved.
class Browser final : public Host {
 public:
  /// What one database is browsed with; must outlive this.
  Browser(Workspace& workspace, FindingsTask& findings);

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
  void notify(const std::string& text) override { overlays_.notify(text); }
  void ask(Prompt prompt) override { overlays_.ask(std::move(prompt)); }
  void choose(Menu menu) override { overlays_.choose(std::move(menu)); }
  void show(const std::string& title, Page page) override { overlays_.show(title, std::move(page)); }
  void figures_changed() override { tabs_.figures_changed(); }

  [[nodiscard]] const std::string& message() const { return overlays_.message(); }
  [[nodiscard]] std::string tab() const { return tabs_.front().name(); }
  [[nodiscard]] Tabs& tabs() { return tabs_; }

 private:
  [[nodiscard]] bool handle_everywhere(const Event& event);
  [[nodiscard]] bool handle_letter(char32_t letter);
  [[nodiscard]] bool handle_function(int number);
  void explain();
  void go_back();
  void ask_other_run();
  void copy_path();
  void ask_file();
  [[nodiscard]] std::string screen_text();
  void draw_bottom(Canvas& canvas);
  void draw_hints(Canvas& canvas, int row);

  Workspace& workspace_;
  FindingsTask& task_;
  std::unique_ptr<Comparison> comparison_;  ///< where there is a second run
  Tabs tabs_;
  std::vector<std::pair<std::size_t, std::optional<NodeRef>>> came_from_;
  Overlays overlays_;
  std::optional<std::string> copied_;
  bool finished_ = false;
  int width_ = 80, height_ = 24;  ///< as last drawn
};

}  // namespace culprit::viewer::tui
