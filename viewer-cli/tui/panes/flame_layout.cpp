// Lays out an icicle graph, level by level: children of a span stand below it, the largest first, as wide as
// their share of it. Edges are rounded sums of all that stands to the left, so that spans neither overlap nor
// leave gaps by rounding; a span without a column is not shown, nor is anything below it opened. By callers,
// a span is as wide as what the procedure takes itself. Cost: the nodes that are opened, at most columns
// times levels.
#include "tui/panes/flame_layout.hpp"

#include "text/node_label.hpp"
#include "text/shorten.hpp"
#include "views/derived.hpp"
#include "views/folding.hpp"

#include <algorithm>
#include <cmath>

namespace culprit::viewer::tui {
namespace {

constexpr int kMostLevels = 500;

class Layout {
 public:
  Layout(Workspace& workspace, const FlameChoice& choice)
      : workspace_(workspace),
        choice_(choice),
        view_(workspace.view(choice.callers ? Workspace::kCallers : Workspace::kCallingContext)),
        inclusive_(flame_column(workspace)),
        own_(inclusive_) {
    own_.name.inclusive = false;
  }

  std::vector<FlameSpan> run() {
    add_root();
    std::size_t first = 0;
    for (int level = 0; level < kMostLevels && first < spans_.size(); ++level) {
      const std::size_t end = spans_.size();
      for (std::size_t at = first; at < end; ++at) add_below(at);
      first = end;
    }
    return std::move(spans_);
  }

 private:
  struct Below {
    views::VisibleNode row;
    double value = 0;
  };

  void add_root() {
    FlameSpan root;
    root.end = choice_.width;
    views::PassedOverCount count;
    if (choice_.zoomed) {
      root.row = *choice_.zoomed;
      root.value = value_of(root.row, choice_.zoomed_wait);
    } else if (choice_.callers) {
      root.whole_run = true;
      for (const Below& each : procedures()) root.value += each.value;
    } else {
      const std::vector<views::VisibleNode> rows =
          views::rows_of(view_, view_.roots(), workspace_.passed_over, count);
      if (rows.empty()) return;
      root.row = rows.front();
      root.value = value_of(root.row, false);
    }
    if (root.value > 0) spans_.push_back(std::move(root));
  }

  /// By callers, what a procedure takes itself, and what a wait takes with its insides.
  [[nodiscard]] double value_of(const views::VisibleNode& row, bool whole_wait) {
    const bool inclusive = !choice_.callers || whole_wait;
    const double value =
        views::visible_value(view_, row, inclusive ? inclusive_ : own_, workspace_.passed_over.fold_calls);
    return std::isnan(value) ? 0 : value;
  }

  [[nodiscard]] bool is_wait(const views::VisibleNode& row) const {
    return workspace_.passed_over.wait_internals && (view_.flags(row.node) & database::kFrontier) != 0;
  }

  std::vector<Below> procedures() {
    views::PassedOverCount count;
    std::vector<Below> all;
    for (views::VisibleNode& row : views::rows_of(view_, view_.roots(), workspace_.passed_over, count)) {
      const double value = value_of(row, is_wait(row));
      if (value > 0) all.push_back({std::move(row), value});
    }
    return all;
  }

  std::vector<Below> below(const FlameSpan& span) {
    if (span.whole_run) return procedures();
    views::PassedOverCount count;
    std::vector<Below> all;
    const bool whole_wait = choice_.callers && procedure_is_wait(span);
    views::VisibleNode opened = span.row;
    for (views::VisibleNode& row : views::rows_below(view_, opened, workspace_.passed_over, count)) {
      const double value = value_of(row, whole_wait);
      if (value > 0) all.push_back({std::move(row), value});
    }
    return all;
  }

  /// Whether the procedure whose callers stand below is a wait.
  [[nodiscard]] bool procedure_is_wait(const FlameSpan& span) const {
    if (choice_.zoomed) return choice_.zoomed_wait;
    const FlameSpan* at = &span;
    while (at->level > 1) at = &spans_[*at->parent];
    return is_wait(at->row);
  }

  void add_below(std::size_t parent) {
    std::vector<Below> all = below(spans_[parent]);
    std::stable_sort(all.begin(), all.end(),
                     [](const Below& a, const Below& b) { return a.value > b.value; });
    const FlameSpan above = spans_[parent];
    const double columns = (above.end - above.begin) / above.value;
    double before = 0;
    for (Below& each : all) {
      const auto begin = std::min(above.begin + static_cast<int>(std::lround(before * columns)), above.end);
      before += each.value;
      const auto end = std::min(above.begin + static_cast<int>(std::lround(before * columns)), above.end);
      if (begin == end) continue;
      spans_.push_back({std::move(each.row), false, above.level + 1, begin, end, each.value, parent});
    }
  }

  Workspace& workspace_;
  const FlameChoice& choice_;
  views::View& view_;
  views::Column inclusive_, own_;
  std::vector<FlameSpan> spans_;
};

}  // namespace

views::Column flame_column(const Workspace& workspace) {
  const auto is_sum = [](const views::Column& column) {
    return column.additive() && !column.blame && column.name.statistic == views::Statistic::sum;
  };
  views::Column column = workspace.columns().sort_column().column;
  if (!is_sum(column)) column = workspace.columns().front().column;
  if (!is_sum(column)) {
    const database::Contents& experiment = workspace.experiment();
    column = views::find_column(experiment, experiment.metrics[views::main_metric(experiment)].name,
                                workspace.role());
  }
  if (!column.name.inclusive) {
    column.name.inclusive = true;
    column.title = views::to_string(column.name);
  }
  return column;
}

std::vector<FlameSpan> lay_out_flame(Workspace& workspace, const FlameChoice& choice) {
  return Layout(workspace, choice).run();
}

std::string flame_label(Workspace& workspace, const FlameChoice& choice, const FlameSpan& span) {
  if (span.whole_run) return "all code, by who calls it";
  const views::View& view = workspace.view(choice.callers ? Workspace::kCallers : Workspace::kCallingContext);
  return without_parameters(row_label(view, span.row));
}

}  // namespace culprit::viewer::tui
