#include "efficiency.hpp"

#include "measurement/kinds.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "views/column.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace culprit::viewer {
namespace {

using database::ContextId;

constexpr double kNsPerSecond = 1e9;

/// Waits of threads for each other within a rank are no communication.
bool is_mpi(const database::Context& context) {
  const auto kind = static_cast<measurement::WaitKind>(context.wait_kind);
  return kind == measurement::WaitKind::mpi || kind == measurement::WaitKind::none;
}

/// What the time lines told.
Efficiency traced_efficiency(const database::TraceAnalyses& trace) {
  Efficiency result{.parallel = trace.parallel,
                    .load_balance = trace.load_balance,
                    .communication = trace.communication,
                    .serialization = trace.serialization,
                    .transfer = trace.transfer,
                    .exact = true,
                    .run_s = static_cast<double>(trace.run_ns) / kNsPerSecond,
                    .ranks = trace.traced};
  result.useful_mean_s = trace.parallel * result.run_s;
  result.useful_max_s = trace.communication * result.run_s;
  return result;
}

}  // namespace

Efficiency efficiency_of(const views::Figures& figures) {
  const database::Contents& experiment = figures.experiment();
  const database::TraceAnalyses& trace = experiment.trace();
  if (trace.traced > 0 && trace.run_ns > 0) return traced_efficiency(trace);
  Efficiency result;
  if (experiment.run.ranks == 0 || experiment.contexts.empty()) return result;
  const std::uint32_t time = views::find_column(experiment, "REALTIME").metric;
  const std::uint32_t main = views::main_role(experiment);
  const std::vector<std::uint64_t> all = figures.per_thread(0, time, true);
  std::vector<double> useful(all.begin(), all.end());
  std::vector<double> run(all.begin(), all.end());
  for (ContextId context = 0; context < experiment.contexts.size();) {
    const database::Context& self = experiment.contexts[context];
    const bool initializes = experiment.strings[self.name].starts_with("MPI_Init");
    const bool frontier = (self.flags & database::kFrontier) != 0 && is_mpi(self);
    if (!initializes && !frontier) {
      ++context;
      continue;
    }
    const std::vector<std::uint64_t> inside = figures.per_thread(context, time, true);
    for (std::size_t location = 0; location < useful.size(); ++location) {
      useful[location] -= static_cast<double>(inside[location]);
      if (initializes) run[location] -= static_cast<double>(inside[location]);
    }
    context = self.end;
  }
  double sum = 0;
  for (std::size_t location = 0; location < useful.size(); ++location) {
    if (experiment.locations[location].role != main) continue;
    ++result.ranks;
    sum += useful[location] / kNsPerSecond;
    result.useful_max_s = std::max(result.useful_max_s, useful[location] / kNsPerSecond);
    result.run_s = std::max(result.run_s, run[location] / kNsPerSecond);
  }
  if (result.ranks == 0 || result.run_s <= 0 || result.useful_max_s <= 0) return {};
  result.useful_mean_s = sum / static_cast<double>(result.ranks);
  result.load_balance = result.useful_mean_s / result.useful_max_s;
  result.communication = result.useful_max_s / result.run_s;
  result.parallel = result.useful_mean_s / result.run_s;
  return result;
}

void write_efficiency(std::ostream& out, const Screen& screen, const views::Figures& figures) {
  const Efficiency result = efficiency_of(figures);
  if (result.ranks == 0) {
    out << "No MPI rank spent time in this run, so there is no parallel efficiency to tell.\n";
    return;
  }
  const auto line = [&](const std::string& name, double value, const std::string& meaning) {
    const std::string figure = grouped(100 * value, 1);
    out << name << std::string(28 - name.size(), ' ')
        << screen.bold(std::string(5 - std::min<std::size_t>(5, figure.size()), ' ') + figure + " %") << "  "
        << screen.dim(meaning) << '\n';
  };
  line("parallel efficiency", result.parallel, "mean useful time / run time");
  line("  load balance", result.load_balance, "mean / largest useful time");
  line("  communication efficiency", result.communication, "largest useful time / run time");
  if (result.exact) {
    line("    serialization", result.serialization, "communication / transfer efficiency");
    line("    transfer", result.transfer, "critical path outside MPI / run time");
  }
  const auto time = [&](double seconds) { return keep(duration(seconds, screen.unicode)); };
  out << '\n'
      << screen.dim(wrap((result.exact ? "From time lines: run time " : "From a profile: run time ") +
                             time(result.run_s) +
                             (result.exact ? " (first end of MPI_Init to last end of MPI_Finalize), "
                                           : " (the longest rank, without MPI_Init), ") +
                             "useful time outside MPI " + time(result.useful_mean_s) + " on average, " +
                             time(result.useful_max_s) + " at most, over " +
                             keep(counted(result.ranks, "rank")) + '.',
                         screen.width))
      << '\n';
}

Json efficiency_json(const views::Figures& figures) {
  const Efficiency result = efficiency_of(figures);
  const auto figure = [&](double value) { return result.ranks == 0 ? Json(nullptr) : Json(value); };
  return {{"parallel", figure(result.parallel)},
          {"load_balance", figure(result.load_balance)},
          {"communication", figure(result.communication)},
          {"serialization", result.exact ? Json(result.serialization) : Json(nullptr)},
          {"transfer", result.exact ? Json(result.transfer) : Json(nullptr)}};
}

}  // namespace culprit::viewer
