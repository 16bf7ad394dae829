// The thread level of POP's hybrid efficiencies (docs/algorithms.md 10), from what the threads' accounts say
// of idling and locks (12) and the time in MPI and in OpenMP's run-time library. Threads that hardly take
// part in anything (MPI's own, which sleep for messages) are left out: they would pass for useful.
#include "findings/thread_efficiency.hpp"

#include "findings/serving_threads.hpp"
#include "findings/thread_causes.hpp"
#include "measurement/kinds.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "views/column.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

namespace culprit::viewer {
namespace {

using database::ContextId;

constexpr double kTakesPart = 0.01;  // of its life: worked, idled, or made others idle

/// What is added up.
class Sums {
 public:
  explicit Sums(const views::Figures& figures) : figures_(figures), experiment_(figures.experiment()) {
    for (ContextId context = 0; context < experiment_.contexts.size();) {
      const bool in_mpi = is_outside_useful_time(experiment_, context);
      const bool in_team = !in_mpi && is_parallel_body(experiment_, context);
      if (in_mpi) mpi_.push_back(context);
      if (in_team) teams_.push_back(context);
      // Calls of MPI in a team's code are looked for as well.
      context = in_mpi ? experiment_.contexts[context].end : context + 1;
    }
  }

  /// Thread-seconds outside MPI, and of how many threads that take part.
  [[nodiscard]] double time_outside(std::uint64_t& threads, std::uint64_t& workers) const {
    const std::vector<double> all = per_thread("REALTIME", {0});
    const std::vector<double> inside = per_thread("REALTIME", mpi_);
    std::vector<double> active = per_thread("CPU", {0});
    for (const char* part : {"idleness-counted", "idleness-caused", "lock-wait-counted"}) {
      const std::vector<double> more = per_thread(part, {0});
      for (std::size_t i = 0; i < active.size(); ++i) active[i] += more[i];
    }
    const std::uint32_t main = views::main_role(experiment_);
    const std::vector<bool> serves = serving_roles(figures_);
    double sum = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::uint32_t role = experiment_.locations[i].role;
      const bool is_main = role == main;
      if (serves[role]) continue;
      if (!is_main && active[i] < kTakesPart * all[i]) continue;
      ++threads;
      workers += is_main ? 0 : 1;
      sum += std::max(all[i] - inside[i], 0.0);
    }
    return sum;
  }

  /// What all threads idled while main threads were in calls of MPI: that is time of the ranks'
  /// communication. Others' calls are no reason to leave out whom they keep waiting.
  [[nodiscard]] double idle_in_mpi() const {
    const std::vector<double> caused = per_thread("idleness-caused", mpi_);
    const std::uint32_t main = views::main_role(experiment_);
    double sum = 0;
    for (std::size_t i = 0; i < caused.size(); ++i)
      sum += experiment_.locations[i].role == main ? caused[i] : 0;
    return sum;
  }

  /// What the code of main threads between parallel regions caused, and is known to have.
  [[nodiscard]] double idle_beside_serial() const {
    const auto metric = views::metric_named(experiment_, "idleness-caused");
    if (!metric) return 0;
    const std::uint32_t main = views::main_role(experiment_);
    const auto value = [&](ContextId context, bool inclusive) {
      return static_cast<double>(figures_.context(main, *metric, context, inclusive).sum) / kNsPerSecond;
    };
    double sum = value(0, true) - value(0, false);  // at the root: what no sample met
    std::vector<ContextId> others = mpi_;
    others.insert(others.end(), teams_.begin(), teams_.end());
    std::ranges::sort(others);
    ContextId end = 0;
    for (const ContextId context : others) {
      if (context < end) continue;
      sum -= value(context, true);
      end = experiment_.contexts[context].end;
    }
    return std::max(sum, 0.0);
  }

  [[nodiscard]] double overhead() const {
    const auto metric = views::metric_named(experiment_, "thread-overhead");
    double sum = 0;
    for (std::uint32_t role = 0; metric && role < experiment_.roles.size(); ++role)
      sum += static_cast<double>(figures_.context(role, *metric, 0, true).sum);
    return sum / kNsPerSecond;
  }

 private:
  /// Seconds by location, of contexts of which none lies below another.
  [[nodiscard]] std::vector<double> per_thread(const char* name,
                                               const std::vector<ContextId>& contexts) const {
    std::vector<double> sums(experiment_.locations.size(), 0.0);
    const auto metric = views::metric_named(experiment_, name);
    if (!metric || contexts.empty()) return sums;
    const std::vector<std::uint64_t> values = figures_.per_thread(contexts, *metric, true);
    std::ranges::transform(values, sums.begin(),
                           [](std::uint64_t ns) { return static_cast<double>(ns) / kNsPerSecond; });
    return sums;
  }

  const views::Figures& figures_;
  const database::Contents& experiment_;
  std::vector<ContextId> mpi_, teams_;  ///< outermost ones, in order
};

/// The share that is left of `left` without `part`, which is taken from it.
double without(double& left, double part) {
  if (left <= 0) return 0;
  const double before = left;
  left = std::max(left - std::max(part, 0.0), 0.0);
  return left / before;
}

}  // namespace

bool is_outside_useful_time(const database::Contents& experiment, ContextId context) {
  const database::Context& self = experiment.contexts[context];
  if (experiment.strings[self.name].starts_with("MPI_Init")) return true;
  const auto kind = static_cast<measurement::WaitKind>(self.wait_kind);
  return (self.flags & database::kFrontier) != 0 &&
         (kind == measurement::WaitKind::mpi || kind == measurement::WaitKind::none);
}

std::string thread_efficiency_sentence(const ThreadEfficiency& threads, bool unicode) {
  return "Of " + keep(counted(threads.threads, "thread")) + " that work, " +
         keep(duration(threads.all_s, unicode)) +
         " of their time outside MPI in all. Workers' idling while the main thread is in MPI counts there, "
         "and "
         "what other threads spend in MPI calls counts nowhere. The product of the parts is the whole.";
}

ThreadEfficiency thread_efficiency_of(const views::Figures& figures, double parallel) {
  const database::Contents& experiment = figures.experiment();
  const bool knows = views::metric_named(experiment, "REALTIME").has_value() &&
                     views::metric_named(experiment, "idleness-caused").has_value();
  const bool several = experiment.roles.size() > 1;
  if (experiment.contexts.empty() || !knows || !several) return {};
  const ThreadCauses causes = find_thread_causes(figures);
  const Sums sums(figures);
  ThreadEfficiency result;
  std::uint64_t workers = 0;
  const double outside = sums.time_outside(result.threads, workers);
  const double idle = std::max(causes.idle_s - causes.served_s, 0.0);
  const double in_mpi = std::min(sums.idle_in_mpi(), idle);
  result.all_s = outside - in_mpi;
  if (workers == 0 || result.all_s <= 0) return {};
  double left = result.all_s;
  const double serial = std::min(sums.idle_beside_serial(), idle - in_mpi);
  result.serial = without(left, serial);
  result.load_balance = without(left, idle - in_mpi - serial);
  result.contention = without(left, causes.lock_waited_s);
  result.overhead = without(left, sums.overhead());
  result.thread = left / result.all_s;
  result.hybrid = parallel * result.thread;
  return result;
}

}  // namespace culprit::viewer
