// Which code reads and writes (docs/diagnosis.md): along the path with at least half of the metric `io`, the
// last frame that is neither a run-time library's nor MPI's, and the call that it makes.
#include "findings/input_output.hpp"

#include "views/column.hpp"
#include "views/joining.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace culprit::viewer {
namespace {

using database::Context;
using database::ContextId;

/// Of what is around: that much makes a part the place of it.
constexpr double kMost = 0.5;
/// Threads that are in such calls for that much of their time, and use a processor for that little of it,
/// wait there for messages of others: helpers at the end of a pipe.
constexpr double kAlways = 0.95, kHardlyRuns = 0.01;

bool is_only_waiting(double lived, double ran, double in_calls) {
  return in_calls >= kAlways * lived && ran < kHardlyRuns * lived;
}

class Search {
 public:
  Search(const views::Figures& figures, std::uint32_t metric)
      : figures_(figures), experiment_(figures.experiment()), metric_(metric) {
    for (std::uint32_t role = 0; role < experiment_.roles.size(); ++role)
      if (role == views::main_role(experiment_) || !only_waits(role)) roles_.push_back(role);
  }

  [[nodiscard]] std::optional<InputAndOutput> run() const {
    InputAndOutput found{.seconds = seconds(0)};
    if (found.seconds <= 0) return std::nullopt;
    found.there_s = found.seconds;
    for (ContextId at = 0; at != database::kNone; at = next(at, found.seconds)) {
      const Context& context = experiment_.contexts[at];
      if (!is_called(at)) {
        found.where = at;
        found.there_s = seconds(at);
        found.call = found.file = database::kNone;
      } else if (context.kind == database::ContextKind::region) {
        found.file = at;
        found.there_s = seconds(at);
      } else if (context.kind == database::ContextKind::procedure &&
                 (found.call == database::kNone || passes_calls_on(frame_of(found.call)))) {
        found.call = at;
        found.there_s = seconds(at);
      }
    }
    // Which function of the interpreter it is says nothing.
    if (found.call != database::kNone && views::is_interpreter(frame_of(found.call)))
      found.call = database::kNone;
    found.around = found.where;
    while (found.around != 0 && experiment_.contexts[found.around].kind != database::ContextKind::procedure)
      found.around = experiment_.contexts[found.around].parent;
    found.read = bytes("bytes-read", found.around);
    found.written = bytes("bytes-written", found.around);
    return found;
  }

 private:
  /// What has most of all below a context, or the call that has most of what is there; kNone: none has.
  [[nodiscard]] ContextId next(ContextId at, double all_s) const {
    if (const ContextId child = largest_child(at, kMost * all_s); child != database::kNone) return child;
    const ContextId call = largest_child(at, kMost * seconds(at));
    if (call == database::kNone) return call;
    return is_called(call) ? call : database::kNone;
  }

  /// Whether it belongs to what the program calls: a run-time library, MPI, or the interpreter
  /// that runs it.
  [[nodiscard]] bool is_called(ContextId at) const {
    return (experiment_.contexts[at].flags & (database::kRunTime | database::kInWait)) != 0 ||
           views::is_interpreter(frame_of(at));
  }

  [[nodiscard]] views::Frame frame_of(ContextId context) const {
    return views::frame_of(experiment_, experiment_.contexts[context]);
  }

  [[nodiscard]] bool only_waits(std::uint32_t role) const {
    const auto sum = [&](std::uint32_t metric) {
      return static_cast<double>(figures_.context(role, metric, 0, true).sum);
    };
    const std::optional<std::uint32_t> time = views::metric_named(experiment_, "REALTIME");
    const std::optional<std::uint32_t> cpu = views::metric_named(experiment_, "CPU");
    return time && cpu && is_only_waiting(sum(*time), sum(*cpu), sum(metric_));
  }

  [[nodiscard]] double sum(std::uint32_t metric, ContextId context) const {
    double sum = 0;
    for (const std::uint32_t role : roles_)
      sum += static_cast<double>(figures_.context(role, metric, context, true).sum);
    return sum;
  }
  [[nodiscard]] double seconds(ContextId context) const { return sum(metric_, context) / 1e9; }
  [[nodiscard]] double bytes(const char* name, ContextId context) const {
    const std::optional<std::uint32_t> metric = views::metric_named(experiment_, name);
    return metric ? sum(*metric, context) : 0;
  }

  /// The child that has `least` seconds or more; kNone: none has.
  [[nodiscard]] ContextId largest_child(ContextId of, double least) const {
    ContextId largest = database::kNone;
    double most = 0;
    for (ContextId x = of + 1; x < experiment_.contexts[of].end; x = experiment_.contexts[x].end) {
      const double here = seconds(x);
      if (here > most) {
        most = here;
        largest = x;
      }
    }
    return most >= least ? largest : database::kNone;
  }

  const views::Figures& figures_;
  const database::Contents& experiment_;
  std::uint32_t metric_;
  std::vector<std::uint32_t> roles_;  ///< of the threads that count
};

}  // namespace

bool passes_calls_on(const views::Frame& frame) {
  return views::is_named_for_module(frame) || views::is_interpreter(frame);
}

std::vector<std::uint32_t> main_threads_with_files(const views::Figures& figures) {
  const database::Contents& experiment = figures.experiment();
  std::vector<std::uint32_t> main;
  for (std::uint32_t location = 0; location < experiment.locations.size(); ++location) {
    const database::LocationEntry self = experiment.locations[location];
    if (experiment.roles[self.role].name == "main" && (experiment.run.ranks == 0 || self.rank >= 0))
      main.push_back(location);
  }
  const auto time = views::metric_named(experiment, "REALTIME"), cpu = views::metric_named(experiment, "CPU");
  const auto io = views::metric_named(experiment, "io");
  if (experiment.run.ranks > 0 || main.size() < 2 || !time || !cpu || !io) return main;
  const std::vector<std::uint64_t> lived_ns = figures.per_thread(0, *time, true),
                                   ran_ns = figures.per_thread(0, *cpu, true),
                                   in_calls_ns = figures.per_thread(0, *io, true);
  std::erase_if(main, [&](std::uint32_t location) {
    return is_only_waiting(static_cast<double>(lived_ns[location]), static_cast<double>(ran_ns[location]),
                           static_cast<double>(in_calls_ns[location]));
  });
  return main;
}

std::optional<InputAndOutput> input_and_output(const views::Figures& figures) {
  const database::Contents& experiment = figures.experiment();
  const std::optional<std::uint32_t> metric = views::metric_named(experiment, "io");
  if (!metric || experiment.contexts.empty()) return std::nullopt;
  const std::vector<std::uint32_t> main = main_threads_with_files(figures);
  std::vector<std::uint32_t> counting;
  for (std::uint32_t location = 0; location < experiment.locations.size(); ++location) {
    const database::LocationEntry self = experiment.locations[location];
    if (experiment.roles[self.role].name == "main" ? std::ranges::binary_search(main, location)
                                                   : experiment.run.ranks == 0 || self.rank >= 0)
      counting.push_back(location);
  }
  if (counting.size() == experiment.locations.size()) return Search(figures, *metric).run();
  std::vector<std::uint32_t> metrics;
  for (const char* const name : {"REALTIME", "CPU", "io", "bytes-read", "bytes-written"}) {
    if (const auto found = views::metric_named(experiment, name)) metrics.push_back(*found);
  }
  return Search(views::Figures(figures.source(), std::move(counting), metrics), *metric).run();
}

}  // namespace culprit::viewer
