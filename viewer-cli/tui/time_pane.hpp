#pragma once

#include "tui/host.hpp"
#include "tui/pane.hpp"
#include "tui/window.hpp"
#include "tui/workspace.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace culprit::viewer::tui {

/// How long each iteration (or invocation) took outside MPI, ranks downwards and time to the right. Where
/// several share a place, the longest is shown, so that none that is unusual vanishes.
class TimePane final : public Pane {
 public:
  TimePane(Workspace& workspace, Host& host);

  [[nodiscard]] std::string name() const override { return "Time"; }
  bool handle(const Event& event) override;
  void draw(Canvas& canvas, const Area& area) override;
  [[nodiscard]] std::vector<Hint> hints() const override;
  [[nodiscard]] std::string status() const override;

  /// Puts the cursor on a rank and a segment.
  void point_at(const Target& target);

 private:
  [[nodiscard]] const database::Variation* variation() const;
  [[nodiscard]] std::size_t longest_row() const;
  [[nodiscard]] std::uint64_t at(std::size_t row, std::size_t segment) const;
  [[nodiscard]] const database::Variation::Outlier* outlier_here() const;
  [[nodiscard]] double level(std::uint64_t ns, std::uint64_t most) const;
  bool change(char32_t letter);
  bool click(const Event& event);
  void follow();
  void draw_missing(Canvas& canvas, const Area& area) const;
  void draw_map(Canvas& canvas, const Area& inside) const;
  void draw_labels(Canvas& canvas, const Area& area, const Area& inside) const;
  [[nodiscard]] std::string what() const;

  Workspace& workspace_;
  Host& host_;
  std::size_t finer_ = 0;  ///< which of the variations
  bool above_median_ = false;
  Window ranks_, segments_;
  Area inside_;
};

}  // namespace culprit::viewer::tui
