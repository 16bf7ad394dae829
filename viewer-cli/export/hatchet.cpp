#include "export/hatchet.hpp"

#include "text/frame_json.hpp"
#include "views/folded_tree.hpp"

#include <nlohmann/json.hpp>

namespace culprit::viewer {
namespace {

/// Trees of the same run have the same scopes, whatever their metric.
class Literal {
 public:
  Literal(std::ostream& out, const views::Figures& figures)
      : out_(out), metrics_(hatchet_metrics(figures.experiment())) {
    for (const HatchetMetric& metric : metrics_) trees_.emplace_back(figures, metric.column);
  }

  void write() {
    out_ << '[';
    if (!trees_.empty() && !trees_.front().scopes().empty()) scope(0);
    out_ << "]\n";
  }

 private:
  void scope(std::uint32_t number) {
    const views::Frame& frame = trees_.front()[number].frame;
    // Hatchet sorts frames: every one has the same attributes, each of one type.
    const Json attributes = {{"name", label(frame)},
                             {"type", views::kind_name(frame.kind)},
                             {"file", frame.file},
                             {"line", frame.line},
                             {"module", frame.module}};
    Json figures = Json::object();
    for (std::size_t metric = 0; metric < metrics_.size(); ++metric) {
      const double divisor = metrics_[metric].column.divisor;
      figures[metrics_[metric].name] = trees_[metric][number].own / divisor;
      figures[metrics_[metric].name + " (inc)"] = trees_[metric][number].inclusive / divisor;
    }
    out_ << R"({"frame":)" << one_line(attributes) << R"(,"metrics":)" << one_line(figures)
         << R"(,"children":[)";
    bool first = true;
    for (const std::uint32_t child : trees_.front()[number].children) {
      out_ << (first ? "\n" : ",\n");
      first = false;
      scope(child);
    }
    out_ << "]}";
  }

  std::ostream& out_;
  std::vector<HatchetMetric> metrics_;
  std::vector<views::FoldedTree> trees_;
};

}  // namespace

std::vector<HatchetMetric> hatchet_metrics(const database::Contents& experiment) {
  std::vector<HatchetMetric> metrics;
  const std::uint32_t main = views::main_metric(experiment);
  for (std::uint32_t number = 0; number < experiment.metrics.size(); ++number) {
    const database::Metric& metric = experiment.metrics[number];
    if (metric.summary_only) continue;
    metrics.push_back({number == main && metric.unit == "ns" ? "time" : metric.name,
                       views::find_column(experiment, metric.name + ":sum (I)")});
  }
  return metrics;
}

void write_hatchet(std::ostream& out, const views::Figures& figures) {
  Literal(out, figures).write();
}

}  // namespace culprit::viewer
