#pragma once

#include "tui/panes/flame_layout.hpp"
#include "tui/panes/pane.hpp"
#include "tui/state/workspace.hpp"
#include "tui/widgets/host.hpp"

#include <memory>
#include <string>
#include <vector>

namespace re2 {
class RE2;
}

namespace culprit::viewer::tui {

/// A flame graph that hangs from its root (an icicle): each frame as wide as its share of the time, what it
/// calls below it. By callers, procedures hang from the run as wide as their own time, and callers below
/// them.
class FlamePane final : public Pane {
 public:
  FlamePane(Workspace& workspace, Host& host);
  ~FlamePane() override;

  [[nodiscard]] std::string name() const override { return "Flame"; }
  bool handle(const Event& event) override;
  void draw(Canvas& canvas, const Area& area) override;
  [[nodiscard]] std::vector<Hint> hints() const override;
  [[nodiscard]] std::string status() const override;
  void figures_changed() override;
  void shown() override;
  [[nodiscard]] std::string path() const override;
  [[nodiscard]] std::string topic() const override;
  [[nodiscard]] bool has_table() const override { return true; }
  [[nodiscard]] std::string csv() const override;

 private:
  [[nodiscard]] std::size_t view() const {
    return choice_.callers ? Workspace::kCallers : Workspace::kCallingContext;
  }
  [[nodiscard]] const FlameSpan* current() const;
  void form(int width);
  bool move(const Event& event);
  bool click(const Event& event);
  void to_parent();
  void to_largest_below();
  void to_neighbour(bool right);
  void zoom();
  bool zoom_out();
  void turn();
  void ask_search();
  void search(const std::string& pattern);
  void next_match(bool backwards);
  [[nodiscard]] bool matches(const FlameSpan& span);
  void notify_matches();
  void note_choice();
  void draw_span(Canvas& canvas, const Area& area, std::size_t index);
  [[nodiscard]] std::string title();
  [[nodiscard]] std::string share_of(double value, double whole) const;

  Workspace& workspace_;
  Host& host_;
  FlameChoice choice_;
  std::vector<FlameChoice> zoomed_from_;
  std::vector<FlameSpan> spans_;
  std::string formed_for_;  ///< the column that spans are of; empty: they are to be laid out
  std::size_t cursor_ = 0;
  int top_ = 0;  ///< the first level that is shown
  Area drawn_;
  std::string searched_;
  std::unique_ptr<re2::RE2> pattern_;
};

}  // namespace culprit::viewer::tui
