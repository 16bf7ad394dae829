#include "export/caliper.hpp"

#include "export/hatchet.hpp"
#include "text/frame_json.hpp"
#include "views/folded_tree.hpp"

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <nlohmann/json.hpp>

namespace culprit::viewer {
namespace {

/// The locations of one process.
struct Process {
  std::string name;  ///< `rank 3`, or `host:pid`
  std::vector<std::uint32_t> locations;
};

/// Locations are sorted by rank, processes that are no rank behind them, threads of one together.
std::vector<Process> processes_of(const views::Figures& figures) {
  const database::Contents& experiment = figures.experiment();
  std::vector<Process> processes;
  std::tuple<std::int32_t, std::string, std::uint64_t> last;
  for (const std::uint32_t location : figures.locations()) {
    const database::LocationEntry self = experiment.locations[location];
    const std::tuple key{self.rank, std::string(self.host), self.pid};
    if (processes.empty() || key != last) {
      last = key;
      processes.push_back({self.rank >= 0 ? "rank " + std::to_string(self.rank)
                                          : std::string(self.host) + ':' + std::to_string(self.pid),
                           {}});
    }
    processes.back().locations.push_back(location);
  }
  return processes;
}

class CaliperWriter {
 public:
  CaliperWriter(std::ostream& out, const views::Figures& figures)
      : out_(out),
        figures_(figures),
        metrics_(hatchet_metrics(figures.experiment())),
        tree_(figures, metrics_.front().column) {
    for (std::size_t metric = 0; metric < metrics_.size(); ++metric)
      place_[metrics_[metric].column.metric] = metric;
  }

  void write() {
    const std::vector<Process> processes = processes_of(figures_);
    out_ << R"({"data":[)";
    for (std::size_t process = 0; process < processes.size(); ++process) rows(process, processes[process]);
    out_ << "],\n";
    write_columns();
    write_nodes();
    write_metadata(processes);
  }

 private:
  /// Of one process: own and inclusive value per scope and metric, in raw units.
  void rows(std::size_t number, const Process& process) {
    const std::size_t metrics = metrics_.size();
    std::vector<std::uint64_t> own(tree_.scopes().size() * metrics, 0);
    for (const std::uint32_t location : process.locations) {
      for (const database::Value& value : figures_.source().profile_values(location)) {
        const auto place = place_.find(value.metric);
        if (place != place_.end()) own[tree_.scope_of(value.index) * metrics + place->second] += value.value;
      }
    }
    std::vector<std::uint64_t> inclusive = own;
    for (std::size_t scope = tree_.scopes().size(); scope-- > 1;) {
      const std::size_t parent = tree_.scopes()[scope].parent;
      for (std::size_t metric = 0; metric < metrics; ++metric)
        inclusive[parent * metrics + metric] += inclusive[scope * metrics + metric];
    }
    for (std::size_t scope = 0; scope < tree_.scopes().size(); ++scope) {
      Json row = Json::array({scope, number});
      bool any = false;
      for (std::size_t metric = 0; metric < metrics; ++metric) {
        const double divisor = metrics_[metric].column.divisor;
        const std::size_t at = scope * metrics + metric;
        row.push_back(static_cast<double>(own[at]) / divisor);
        row.push_back(static_cast<double>(inclusive[at]) / divisor);
        any = any || inclusive[at] != 0;
      }
      if (!any) continue;
      out_ << (first_ ? "\n" : ",\n") << one_line(row);
      first_ = false;
    }
  }

  void write_columns() {
    Json columns = Json::array({"path", "mpi.rank"});
    Json described = Json::array();
    described.push_back({{"is_value", false}});
    described.push_back({{"is_value", true}});
    for (const HatchetMetric& metric : metrics_) {
      const bool time = metric.name == "time";
      columns.push_back(time ? "sum#time.duration" : metric.name);
      columns.push_back(time ? "inclusive#sum#time.duration" : metric.name + " (inc)");
      described.push_back({{"is_value", true}});
      described.push_back({{"is_value", true}});
    }
    out_ << R"("columns":)" << one_line(columns) << ",\n\"column_metadata\":" << one_line(described) << ",\n";
  }

  void write_nodes() {
    out_ << R"("nodes":[)";
    for (std::size_t scope = 0; scope < tree_.scopes().size(); ++scope) {
      const views::FoldedScope& self = tree_.scopes()[scope];
      Json node = {{"label", label(self.frame)}, {"column", "path"}};
      if (self.parent != database::kNone) node["parent"] = self.parent;
      out_ << (scope == 0 ? "\n" : ",\n") << one_line(node);
    }
    out_ << "],\n";
  }

  void write_metadata(const std::vector<Process>& processes) {
    const database::Run& run = figures_.experiment().run;
    Json names = Json::array();
    for (const Process& process : processes) names.push_back(process.name);
    out_ << R"("culprit.processes":)" << one_line(names) << ",\n\"culprit.program\":" << one_line(run.program)
         << ",\n\"culprit.run\":" << one_line(run.run_id) << "}\n";
  }

  std::ostream& out_;
  const views::Figures& figures_;
  std::vector<HatchetMetric> metrics_;
  views::FoldedTree tree_;
  std::map<std::uint32_t, std::size_t> place_;  // among metrics_, by the database's number
  bool first_ = true;
};

}  // namespace

void write_caliper(std::ostream& out, const views::Figures& figures) {
  CaliperWriter(out, figures).write();
}

}  // namespace culprit::viewer
