#pragma once

#include "tui/panes/pane.hpp"
#include "tui/panes/per_rank.hpp"
#include "tui/panes/procedure_heat.hpp"
#include "tui/state/workspace.hpp"
#include "tui/widgets/host.hpp"
#include "tui/widgets/plot.hpp"
#include "tui/widgets/scroll.hpp"

#include <array>
#include <vector>

namespace culprit::viewer::tui {

/// Values of the chosen node, or of all marked ones, over the threads: by rank, sorted, or as a histogram;
/// and all procedures over the ranks, beside it where there is room.
class RanksPane final : public Pane {
 public:
  enum class Mode : std::uint8_t { by_rank, sorted, histogram, procedures };

  RanksPane(Workspace& workspace, Host& host);

  [[nodiscard]] std::string name() const override { return "Ranks"; }
  bool handle(const Event& event) override;
  void draw(Canvas& canvas, const Area& area) override;
  [[nodiscard]] std::vector<Hint> hints() const override;
  [[nodiscard]] std::string status() const override;
  [[nodiscard]] bool has_table() const override { return threads() > 0; }
  [[nodiscard]] std::string csv() const override;
  bool work() override;
  void figures_changed() override {
    series_.clear();
    heat_.clear();
  }
  void shown() override {
    while (read_nodes()) continue;
  }

  [[nodiscard]] Mode mode() const { return mode_; }

 private:
  static constexpr std::array<const char*, 4> kModes = {"by rank", "sorted", "histogram", "procedures"};

  /// Without ranks, `by rank` is `by thread`.
  [[nodiscard]] std::string mode_name(Mode mode) const;

  [[nodiscard]] std::vector<NodeRef> wanted() const;
  [[nodiscard]] bool up_to_date() const;
  bool read_nodes();
  [[nodiscard]] std::size_t threads() const { return series_.empty() ? 0 : series_.front().values.size(); }
  void group();
  void move(std::ptrdiff_t by);
  bool click(const Event& event);

  [[nodiscard]] std::string why_empty() const;
  void draw_key(Canvas& canvas, const Area& area, int column) const;
  [[nodiscard]] std::string elsewhere_text() const;
  int draw_legend(Canvas& canvas, const Area& area) const;
  [[nodiscard]] std::string groups_text(std::size_t width) const;
  [[nodiscard]] std::string group_text(const AlikeThreads& group) const;
  void name_outliers(Canvas& canvas, const Area& inside) const;
  void draw_graph(Canvas& canvas, const Area& area);
  void draw_bars(Canvas& canvas, const Area& inside, const std::vector<double>& values) const;
  void draw_narrow_bars(Canvas& canvas, const Area& inside, const std::vector<double>& values) const;
  void draw_steps(Canvas& canvas, const Area& inside, const std::vector<std::vector<double>>& all) const;
  void mark_series(Canvas& canvas, const Dots& dots, const std::vector<std::vector<double>>& all) const;
  void draw_histogram(Canvas& canvas, const Area& area) const;
  void draw_scale(Canvas& canvas, const Area& area, const Area& inside, double largest) const;
  void draw_ranks(Canvas& canvas, const Area& inside) const;
  [[nodiscard]] std::string amount(double value) const;
  [[nodiscard]] std::string location_text(std::size_t index) const;
  [[nodiscard]] int slot(std::size_t index, int width) const;

  Workspace& workspace_;
  Host& host_;
  Mode mode_ = Mode::by_rank;
  Window window_;
  std::vector<RankSeries> series_;
  std::vector<AlikeThreads> groups_;  ///< of a series that is alone
  double largest_ = 0;
  ProcedureHeat heat_;
  bool heat_is_shown_ = false;
  Area inside_;  ///< of the graph, as last drawn
};

}  // namespace culprit::viewer::tui
