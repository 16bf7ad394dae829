#pragma once

#include "tui/panes/pane.hpp"
#include "tui/panes/time_drawing.hpp"
#include "tui/panes/time_view.hpp"
#include "tui/state/findings.hpp"
#include "tui/state/workspace.hpp"
#include "tui/widgets/host.hpp"

#include <string>
#include <vector>

namespace culprit::viewer::tui {

/// How long each iteration (or invocation) took outside MPI, where ranks waited or were in MPI, or in which
/// code they were: a row of bars for each rank, time to the right. A bar is the mean of what shares its
/// column; where ranks share a line, of the rank with the largest mean, so that none that is unusual
/// vanishes. The map of code, looked at from near, shows single calls.
class TimePane final : public Pane {
 public:
  /// `findings` must outlive this: until they are formed, there is nothing to show.
  TimePane(Workspace& workspace, Host& host, const FindingsTask& findings);

  [[nodiscard]] std::string name() const override { return "Time"; }
  bool handle(const Event& event) override;
  void draw(Canvas& canvas, const Area& area) override;
  [[nodiscard]] std::vector<Hint> hints() const override;
  [[nodiscard]] std::string status() const override;
  [[nodiscard]] std::string path() const override;
  [[nodiscard]] std::string topic() const override;
  [[nodiscard]] bool has_table() const override {
    return view_.grid() != nullptr && view_.choice().of_iterations();
  }
  [[nodiscard]] std::string csv() const override;
  bool work() override { return view_.calls_came(); }
  [[nodiscard]] bool busy() const override { return view_.reading(); }

  /// Puts the cursor on a rank and a segment.
  void point_at(const Target& target) { view_.point_at(target); }

 private:
  bool change(char32_t letter);
  bool click(const Event& event);
  void ask_choice();
  void finer();
  void go_to_whom_it_waited_for();
  void follow();
  void draw_missing(Canvas& canvas, const Area& area) const;

  Workspace& workspace_;
  Host& host_;
  const FindingsTask& findings_;
  TimeView view_;
  TimeDrawing drawing_;
};

}  // namespace culprit::viewer::tui
