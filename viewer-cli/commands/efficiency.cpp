// POP efficiencies (docs/algorithms.md 10) of the run and of marked regions, and their text.
#include "commands/efficiency.hpp"

#include "blame/machine.hpp"
#include "database/procedure_name.hpp"
#include "findings/coverage.hpp"
#include "findings/thread_waits.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"
#include "text/table.hpp"
#include "views/column.hpp"
#include "views/start_up.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace culprit::viewer {
namespace {

using database::ContextId;

/// Whether what main threads wait for other threads is anything: barriers of a team of one take some time.
bool is_shown(double threads) {
  constexpr double kAsGoodAsNone = 0.9995;
  return threads < kAsGoodAsNone;
}

/// By time lines.
Efficiency traced_efficiency(const database::TraceAnalyses& trace) {
  Efficiency result{.parallel = trace.parallel,
                    .load_balance = trace.load_balance,
                    .communication = trace.communication,
                    .serialization = trace.serialization,
                    .transfer = trace.transfer,
                    .exact = true,
                    .run_s = static_cast<double>(trace.run_ns) / kNsPerSecond,
                    .ranks = trace.traced};
  if (thread_waits_ns(trace.time_map) != 0 && trace.load_balance * trace.communication > 0) {
    result.threads = std::min(trace.parallel / (trace.load_balance * trace.communication), 1.0);
    result.awaits_threads = is_shown(result.threads);
  }
  result.useful_mean_s = trace.parallel * result.run_s;
  result.useful_max_s = trace.communication * result.run_s;
  return result;
}

/// Time of the threads outside MPI, and in all.
struct UsefulTimes {
  std::vector<double> useful, run, initializing;
};

/// Adds the time below a context. MPI_Init is no part of the run.
void add_times(const views::Figures& figures, ContextId root, UsefulTimes& times) {
  const database::Contents& experiment = figures.experiment();
  const std::uint32_t time = views::find_column(experiment, "REALTIME").metric;
  const std::vector<std::uint64_t> all = figures.per_thread(root, time, true);
  times.useful.resize(all.size());
  times.run.resize(all.size());
  times.initializing.resize(all.size());
  for (std::size_t location = 0; location < all.size(); ++location) {
    times.useful[location] += static_cast<double>(all[location]);
    times.run[location] += static_cast<double>(all[location]);
  }
  for (ContextId context = root; context < experiment.contexts[root].end;) {
    const database::Context& self = experiment.contexts[context];
    if (!is_outside_useful_time(experiment, context)) {
      ++context;
      continue;
    }
    const bool initializes = experiment.strings[self.name].starts_with("MPI_Init");
    const std::vector<std::uint64_t> inside = figures.per_thread(context, time, true);
    for (std::size_t location = 0; location < all.size(); ++location) {
      times.useful[location] -= static_cast<double>(inside[location]);
      if (!initializes) continue;
      times.run[location] -= static_cast<double>(inside[location]);
      times.initializing[location] += static_cast<double>(inside[location]);
    }
    context = self.end;
  }
}

/// Of the ranks' main threads.
Efficiency profiled_efficiency(const database::Contents& experiment, const UsefulTimes& times) {
  Efficiency result;
  const std::uint32_t main = views::main_role(experiment);
  double sum = 0, shortest_s = 0, longest_s = 0;  // of MPI_Init
  for (std::size_t location = 0; location < times.useful.size(); ++location) {
    if (experiment.locations[location].role != main) continue;
    const double initializing_s = times.initializing[location] / kNsPerSecond;
    shortest_s = result.ranks == 0 ? initializing_s : std::min(shortest_s, initializing_s);
    longest_s = std::max(longest_s, initializing_s);
    ++result.ranks;
    sum += times.useful[location] / kNsPerSecond;
    result.useful_max_s = std::max(result.useful_max_s, times.useful[location] / kNsPerSecond);
    result.run_s = std::max(result.run_s, times.run[location] / kNsPerSecond);
  }
  if (result.ranks == 0 || result.run_s <= 0 || result.useful_max_s <= 0) return {};
  result.starts_apart_s = longest_s - shortest_s;
  result.useful_mean_s = sum / static_cast<double>(result.ranks);
  result.load_balance = result.useful_mean_s / result.useful_max_s;
  result.communication = result.useful_max_s / result.run_s;
  result.parallel = result.useful_mean_s / result.run_s;
  return result;
}

/// The outermost contexts of each region, by its name.
std::map<std::string, std::vector<ContextId>> find_regions(const database::Contents& experiment) {
  std::map<std::string, std::vector<ContextId>> regions;
  for (ContextId context = 0; context < experiment.contexts.size(); ++context) {
    const database::Context& self = experiment.contexts[context];
    if (self.kind != database::ContextKind::region ||
        !database::file_of_region(experiment.strings[self.name]).empty())
      continue;  // of hpcrun-lite --files
    std::vector<ContextId>& places = regions[std::string(experiment.strings[self.name])];
    if (places.empty() || context >= experiment.contexts[places.back()].end) places.push_back(context);
  }
  return regions;
}

/// What of the critical path in these contexts lies outside MPI; nothing where the path is never there.
std::optional<double> transfer_in(const database::Contents& experiment,
                                  const std::vector<ContextId>& places) {
  double outside = 0, all = 0;
  for (const database::CriticalScope& one : experiment.trace().critical) {
    const auto around = [&](ContextId place) {
      return place <= one.scope.context && one.scope.context < experiment.contexts[place].end;
    };
    if (std::ranges::none_of(places, around)) continue;
    all += static_cast<double>(one.ns);
    if ((experiment.contexts[one.scope.context].flags & (database::kInWait | database::kFrontier)) == 0)
      outside += static_cast<double>(one.ns);
  }
  return all > 0 ? std::optional(outside / all) : std::nullopt;
}

template <typename Of>
void write_figure(std::ostream& out, const Screen& screen, const FigureOf<Of>& figure, const Of& result) {
  const std::string name = figure.name;
  out << name << std::string(28 - name.size(), ' ')
      << screen.bold(align_right(grouped(100 * (result.*figure.value), 1), 5) + " %") << "  "
      << screen.dim(figure.formula) << '\n';
}

void write_ranks(std::ostream& out, const Screen& screen, const views::Figures& figures,
                 const Efficiency& result) {
  const database::Contents& experiment = figures.experiment();
  for (const EfficiencyFigure& figure : known_figures(result)) write_figure(out, screen, figure, result);
  const auto time = [&](double seconds) { return keep(duration(seconds, screen.unicode)); };
  const bool threads = lines_are_threads(experiment);
  const std::string longest = sampling_was_stopped(experiment) ? " (the longest rank, while it was sampled), "
                              : experiment.trace().stopped > 0 || experiment.quality.cut_short > 0
                                  ? " (the longest rank; time lines end before the run), "
                              : experiment.trace().traced > 0
                                  ? " (the longest rank; the time lines of main threads hold no MPI_Init), "
                                  : " (the longest rank, without MPI_Init), ";
  out << '\n'
      << screen.dim(
             wrap((result.exact ? "From time lines: run time " : "From a profile: run time ") +
                      time(result.run_s) +
                      (threads        ? " (the process's), "
                       : result.exact ? " (first end of MPI_Init to last end of MPI_Finalize), "
                                      : longest) +
                      (threads ? "useful time without waits for threads " : "useful time outside MPI ") +
                      time(result.useful_mean_s) + " on average, " + time(result.useful_max_s) + " at most" +
                      thread_waits_phrase(result) + ", over " +
                      keep(counted(result.ranks, threads ? "thread" : "rank")) + '.' +
                      partial_figures_phrase(experiment) +
                      efficiency_caveats(experiment, result, divide_idleness(figures), screen.unicode),
                  screen.width))
      << '\n';
}

void write_threads(std::ostream& out, const Screen& screen, const ThreadEfficiency& threads,
                   const Efficiency& ranks) {
  for (const FigureOf<ThreadEfficiency>& figure : known_figures(threads, ranks))
    write_figure(out, screen, figure, threads);
  out << '\n' << screen.dim(wrap(thread_efficiency_sentence(threads, screen.unicode), screen.width)) << '\n';
}

/// From useful and run times.
void find_shares(Efficiency& result) {
  if (result.run_s <= 0 || result.useful_max_s <= 0) {
    result.ranks = 0;
    return;
  }
  result.load_balance = result.useful_mean_s / result.useful_max_s;
  result.communication = result.useful_max_s / result.run_s;
  result.parallel = result.useful_mean_s / result.run_s;
}

void write_iterations(std::ostream& out, const Screen& screen, const IterationEfficiency& iterations,
                      bool sampling_stopped) {
  if (iterations.all.ranks == 0) return;
  const auto least = std::ranges::min_element(
      iterations.each, {}, [](const Efficiency& one) { return one.ranks == 0 ? 1 : one.parallel; });
  const auto share = [](double value) { return keep(grouped(100 * value, 1) + " %"); };
  const auto time = [&](double seconds) { return keep(duration(seconds, screen.unicode)); };
  const Efficiency& all = iterations.all;
  out << '\n'
      << wrap("The " + keep(counted(iterations.each.size(), "iteration")) +
                  " that the program marked, each by itself, " + time(all.run_s) +
                  " in all: parallel efficiency " + share(all.parallel) + ", load balance " +
                  share(all.load_balance) + ", communication efficiency " + share(all.communication) +
                  "; the least efficient is iteration " +
                  keep(std::to_string(least - iterations.each.begin())) + ", " + share(least->parallel) +
                  " of " + time(least->run_s) + '.' +
                  (sampling_stopped ? " Sampling was stopped for a time: what of an iteration lies in that "
                                      "counts as useful."
                                    : ""),
              screen.width)
      << '\n';
}

void write_regions(std::ostream& out, const Screen& screen, const database::Contents& experiment,
                   const std::vector<RegionEfficiency>& regions) {
  if (regions.empty()) return;
  out << '\n';
  for (const std::string& line : to_lines(screen, experiment, regions_table(regions), regions.size()))
    out << line << '\n';
}

}  // namespace

namespace {

template <typename Of>
void explain(FigureOf<Of>& figure, const char* formula) {
  figure.formula = figure.meaning = formula;
}

}  // namespace

std::vector<EfficiencyFigure> known_figures(const Efficiency& ranks) {
  std::vector<EfficiencyFigure> figures;
  for (EfficiencyFigure figure : kEfficiencyFigures) {
    if (ranks.of_processes && figure.value == &Efficiency::parallel)
      explain(figure, "mean time outside MPI / run time");
    if (ranks.awaits_threads && figure.value == &Efficiency::load_balance)
      explain(figure, "mean / largest time outside MPI");
    if (ranks.awaits_threads && figure.value == &Efficiency::communication)
      explain(figure, "largest time outside MPI / run time");
    if (!figure.exact || ranks.exact) figures.push_back(figure);
    if (ranks.awaits_threads && !ranks.of_processes && figure.value == &Efficiency::parallel)
      figures.push_back(kThreadWaitsFigure);
  }
  return figures;
}

std::vector<FigureOf<ThreadEfficiency>> known_figures(const ThreadEfficiency& threads,
                                                      const Efficiency& ranks) {
  std::vector<FigureOf<ThreadEfficiency>> figures;
  if (threads.threads == 0) return figures;
  for (const FigureOf<ThreadEfficiency>& figure : kThreadEfficiencyFigures)
    if ((ranks.ranks > 0 && !ranks.of_threads) || figure.value != &ThreadEfficiency::hybrid)
      figures.push_back(figure);
  return figures;
}

std::string thread_waits_phrase(const Efficiency& ranks) {
  return ranks.awaits_threads ? " with what main threads wait for other threads" : "";
}

namespace {

std::string lacked_processors_phrase(const database::Contents& experiment, const Efficiency& ranks,
                                     const IdlenessParts& waiting, bool unicode) {
  constexpr double kNotable = 0.01;
  double lacked_s = 0;
  for (const database::ScheduledThread& thread : experiment.machine().threads) {
    const database::LocationEntry location = experiment.locations[thread.location];
    if (location.rank >= 0 && location.thread == 0)
      lacked_s += blame::preempted(thread).work_ns / kNsPerSecond;
  }
  const double useful_s = ranks.useful_mean_s * static_cast<double>(ranks.ranks);
  std::string text;
  if (lacked_s > kNotable * useful_s)
    text = " Of useful time, " + keep(round_percent(std::min(1.0, lacked_s / useful_s))) +
           " is without a processor, ready to run.";
  return text +
         lacked_in_figure_phrase(waiting, ranks.exact ? "Transfer" : "Communication efficiency", unicode);
}

std::string late_starts_phrase(const Efficiency& ranks, bool unicode) {
  constexpr double kNotable = 0.05;
  if (ranks.exact || ranks.starts_apart_s <= kNotable * ranks.run_s) return {};
  return " Some ranks were " + keep(duration(ranks.starts_apart_s, unicode)) +
         " longer in MPI_Init than others: what these did before it counts as useful time, and the waiting "
         "for it does not count. hpcrun-lite --trace has the run from MPI_Init on.";
}

std::string file_calls_phrase(const Efficiency& ranks, bool unicode) {
  constexpr double kNotable = 0.01;
  if (ranks.files_s <= kNotable * ranks.run_s) return {};
  return " Of the time in MPI, " + keep(duration(ranks.files_s, unicode)) +
         " on average are calls for files (MPI_File_*), which no network shortens.";
}

}  // namespace

std::string efficiency_caveats(const database::Contents& experiment, const Efficiency& ranks,
                               const IdlenessParts& waiting, bool unicode) {
  return late_starts_phrase(ranks, unicode) + file_calls_phrase(ranks, unicode) +
         lacked_processors_phrase(experiment, ranks, waiting, unicode);
}

IterationEfficiency efficiency_of_iterations(const database::Contents& experiment) {
  const std::vector<database::Variation>& variations = experiment.trace().variations;
  if (variations.empty() || !variations.front().marked) return {};
  const database::Variation& marked = variations.front();
  IterationEfficiency result;
  result.all.ranks = marked.rows.size();
  for (std::size_t i = 0; i < marked.longest_ns.size(); ++i) {
    Efficiency one{.run_s = static_cast<double>(marked.longest_ns[i]) / kNsPerSecond};
    for (const database::Variation::Row& row : marked.rows) {
      if (i >= row.sos_ns.size()) continue;
      const double useful = static_cast<double>(row.sos_ns[i]) / kNsPerSecond;
      ++one.ranks;
      one.useful_mean_s += useful;
      one.useful_max_s = std::max(one.useful_max_s, useful);
    }
    if (one.ranks > 0) one.useful_mean_s /= static_cast<double>(one.ranks);
    result.all.run_s += one.run_s;
    result.all.useful_mean_s += one.useful_mean_s;
    result.all.useful_max_s += one.useful_max_s;
    find_shares(one);
    result.each.push_back(one);
  }
  find_shares(result.all);
  return result;
}

namespace {

/// Of main threads whose time lines hold no MPI, since other threads of their processes call it.
void take_out_thread_waits(const views::Figures& figures, Efficiency& result) {
  const database::Contents& experiment = figures.experiment();
  const std::optional<std::uint32_t> idleness = views::metric_named(experiment, "idleness");
  if (!idleness || result.ranks == 0) return;
  const std::uint32_t main = views::main_role(experiment);
  const auto idle_s = [&](ContextId context) {
    return static_cast<double>(figures.context(main, *idleness, context, true).sum) / kNsPerSecond;
  };
  double waited_s = idle_s(0);
  for (ContextId context = 0; context < experiment.contexts.size();) {
    const bool outside = is_outside_useful_time(experiment, context);
    if (outside) waited_s -= idle_s(context);
    context = outside ? experiment.contexts[context].end : context + 1;
  }
  if (waited_s <= 0) return;
  const double outside_s = result.useful_mean_s * static_cast<double>(result.ranks);
  const double threads = std::max(0.0, 1 - waited_s / outside_s);
  if (!is_shown(threads)) return;
  result.awaits_threads = true;
  result.threads = threads;
  result.parallel *= result.threads;
  result.useful_mean_s *= result.threads;
}

}  // namespace

std::vector<RegionEfficiency> efficiency_of_regions(const views::Figures& figures) {
  const database::Contents& experiment = figures.experiment();
  std::vector<RegionEfficiency> regions;
  if (experiment.run.ranks == 0) return regions;
  for (const auto& [name, places] : find_regions(experiment)) {
    UsefulTimes times;
    for (const ContextId place : places) add_times(figures, place, times);
    Efficiency efficiency = profiled_efficiency(experiment, times);
    if (efficiency.ranks == 0) continue;
    if (const std::optional<double> transfer = transfer_in(experiment, places); transfer && *transfer > 0) {
      efficiency.exact = true;
      efficiency.transfer = std::max(*transfer, efficiency.communication);
      efficiency.serialization = efficiency.communication / efficiency.transfer;
    }
    regions.push_back({name, places.front(), efficiency});
  }
  std::ranges::stable_sort(regions, std::ranges::greater(),
                           [](const RegionEfficiency& region) { return region.efficiency.run_s; });
  return regions;
}

namespace {

/// The mean over main threads.
double time_in_file_calls_s(const views::Figures& figures) {
  const database::Contents& experiment = figures.experiment();
  const auto time = views::metric_named(experiment, "REALTIME");
  const std::uint32_t main = views::main_role(experiment);
  if (!time || main >= experiment.roles.size() || experiment.roles[main].threads == 0) return 0;
  double sum = 0;
  for (const ContextId call : views::mpi_file_calls(experiment))
    sum += static_cast<double>(figures.context(main, *time, call, true).sum) / kNsPerSecond;
  return sum / static_cast<double>(experiment.roles[main].threads);
}

Efficiency efficiency_of_ranks(const views::Figures& figures) {
  const database::Contents& experiment = figures.experiment();
  const database::TraceAnalyses& trace = experiment.trace();
  // Cut time lines are those of a part of the run; samples are of all of it.
  if (trace.traced > 0 && trace.run_ns > 0 && trace.stopped == 0 && experiment.quality.cut_short == 0 &&
      !sampling_was_stopped(experiment))
    return traced_efficiency(trace);
  if (experiment.run.ranks == 0 || experiment.contexts.empty()) return {};
  UsefulTimes times;
  add_times(figures, 0, times);
  Efficiency result = profiled_efficiency(experiment, times);
  if (trace.traced > 0) take_out_thread_waits(figures, result);
  return result;
}

}  // namespace

Efficiencies efficiencies_of(const views::Figures& figures) {
  Efficiency ranks = efficiency_of_ranks(figures);
  ranks.of_threads = lines_are_threads(figures.experiment());
  const double processes =
      ranks.ranks == 0 || ranks.of_threads ? 1 : ranks.load_balance * ranks.communication;
  ranks.files_s = time_in_file_calls_s(figures);
  const ThreadEfficiency threads = thread_efficiency_of(figures, processes);
  if (ranks.awaits_threads && threads.threads > 0) {
    ranks.of_processes = true;
    ranks.parallel = processes;
    ranks.useful_mean_s = processes * ranks.run_s;
  }
  return {ranks, threads};
}

void write_efficiency(std::ostream& out, const Screen& screen, const views::Figures& figures) {
  const auto [result, threads] = efficiencies_of(figures);
  if (result.ranks == 0 && threads.threads == 0) {
    out << "Efficiencies need MPI ranks or several threads, and none spent time in this run.\n";
    return;
  }
  if (result.ranks > 0) write_ranks(out, screen, figures, result);
  if (threads.threads > 0) {
    if (result.ranks > 0) out << '\n';
    write_threads(out, screen, threads, result);
  }
  write_regions(out, screen, figures.experiment(), efficiency_of_regions(figures));
  write_iterations(out, screen, efficiency_of_iterations(figures.experiment()),
                   sampling_was_stopped(figures.experiment()));
}

}  // namespace culprit::viewer
