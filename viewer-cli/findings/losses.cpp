// What each kind of loss takes of all threads' time (docs/diagnosis.md): start-up, input and output, and idle
// threads as measured; waiting in MPI is divided among what suspects explain, what time lines or varying gaps
// show, and the rest, to which the work of the MPI library is added. Cost: linear in contexts, and per-thread
// values of waits for threads and of the first few suspects.
#include "findings/losses.hpp"

#include "blame/machine.hpp"
#include "findings/causes.hpp"
#include "findings/crowded.hpp"
#include "findings/input_output.hpp"
#include "findings/mpi_calls.hpp"
#include "text/quantity.hpp"
#include "views/column.hpp"
#include "views/start_up.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace culprit::viewer {
namespace {

using database::ContextId;

/// Suspects that are looked at closely.
constexpr std::size_t kExamined = 8;

/// Fills MeasuredLosses, loss by loss.
class Measurement {
 public:
  Measurement(const views::Figures& figures, const Diagnosis& diagnosis)
      : figures_(figures),
        experiment_(figures.experiment()),
        diagnosis_(diagnosis),
        time_(views::metric_named(experiment_, "REALTIME")),
        idleness_(views::metric_named(experiment_, "idleness")),
        communication_(views::metric_named(experiment_, "communication")),
        read_or_written_(views::metric_named(experiment_, "io")) {}

  MeasuredLosses measure() {
    losses_.samples = experiment_.quality.samples;
    losses_.threads = lasting_threads();
    losses_.without_path = experiment_.quality.full;
    losses_.total_s = diagnosis_.total_s;
    add_machine();
    if (time_ && !experiment_.contexts.empty()) {
      add_calls();
      add_suspects();
      losses_.suspects_s = losses_.serial_s + losses_.lasting_s;
      add_varying_work();
      divide_the_rest();
      add_lost_waits();
      add_sleep();
    }
    return {.losses = losses_, .lasting = lasting_, .serial = serial_, .io = io_};
  }

 private:
  /// Those that lived for a tenth of the longest's time: brief helpers have few samples in the longest run.
  [[nodiscard]] std::uint64_t lasting_threads() const {
    constexpr std::uint64_t kTenth = 10;
    if (!time_ || experiment_.contexts.empty()) return experiment_.locations.size();
    const std::vector<std::uint64_t> lived = figures_.per_thread(0, *time_, true);
    const std::uint64_t longest = lived.empty() ? 0 : std::ranges::max(lived);
    return static_cast<std::uint64_t>(
        std::ranges::count_if(lived, [&](std::uint64_t ns) { return ns >= longest / kTenth; }));
  }

  void add_machine() {
    for (const database::MachineSuspect& suspect : experiment_.machine().suspects) {
      if (suspect.kind == database::MachineKind::slow) continue;
      losses_.few_processors = true;
      losses_.processors_s += seconds_of(suspect.lost_ns);
      losses_.machine_explains_s += seconds_of(suspect.explains_ns);
    }
    for (const database::ScheduledThread& thread : experiment_.machine().threads)
      losses_.runnable_s += runnable_s(thread);
    for (const Crowd& crowd : find_crowds(experiment_)) losses_.crowded_s += crowd.lacked_s;
  }

  void add_calls() {
    for (const RoleIdleness& role : diagnosis_.roles) {
      if (role.serves) continue;
      const double unhidden = unhidden_share(role);
      for (const IdleIn& call : role.where) {
        double& seconds = !call.in_mpi                         ? losses_.threads_s
                          : views::is_mpi_file_call(call.name) ? waited_for_files_s_
                                                               : waited_s_;
        const double hidden_s = call.in_mpi ? (1 - unhidden) * call.seconds : 0;
        seconds += call.seconds - hidden_s;
        losses_.hidden_s += hidden_s;
      }
    }
    waited_s_ += polling(experiment_).late_s;  // which samples call work
    const std::vector<ContextId> all_startup = views::mpi_start_up(experiment_);
    const std::vector<ContextId> startup =
        diagnosis_.without_startup ? std::vector<ContextId>() : all_startup;
    losses_.startup_s = sum_of(startup, time_);
    losses_.io_s = main_threads_io_s();
    losses_.overhead_s = sum_of({0}, views::metric_named(experiment_, "thread-overhead"));
    waited_s_ = std::max(0.0, waited_s_ - sum_of(startup, idleness_));
    left_s_ = waited_s_ + waited_for_files_s_;
    losses_.moving_s = std::max(0.0, sum_of({0}, communication_) - sum_of(all_startup, communication_) -
                                         sum_of(views::mpi_file_calls(experiment_), communication_));
  }

  /// Waits of threads that only serve are no loss.
  void add_lost_waits() {
    if (!idleness_ || diagnosis_.thread_waits.empty()) return;
    std::vector<std::uint64_t> waited_ns = figures_.per_thread(diagnosis_.thread_waits, *idleness_, true);
    for (std::uint32_t location = 0; location < waited_ns.size(); ++location) {
      if (diagnosis_.roles.at(experiment_.locations[location].role).serves) waited_ns[location] = 0;
    }
    losses_.threads_lost_s = std::min(losses_.threads_s, waited_while_free_s(experiment_, waited_ns));
  }

  /// What counts of a role's waiting in MPI: of threads that communicate while main threads work, no larger
  /// share of their time than those wait, for whomever.
  [[nodiscard]] double unhidden_share(const RoleIdleness& role) const {
    if (experiment_.run.ranks == 0 || experiment_.roles[role.role].name == "main" || role.total_s <= 0)
      return 1;
    double main_s = 0, main_idle_s = 0, in_mpi_s = 0;
    for (const RoleIdleness& each : diagnosis_.roles) {
      if (experiment_.roles[each.role].name != "main") continue;
      main_s += each.total_s;
      main_idle_s += each.idle_s;
    }
    for (const IdleIn& call : role.where)
      if (call.in_mpi) in_mpi_s += call.seconds;
    if (main_s <= 0 || in_mpi_s <= 0) return 1;
    return std::min(1.0, main_idle_s / main_s * role.total_s / in_mpi_s);
  }

  /// Waiting in calls that read and write is in the time of input and output, but for what is explained by
  /// who came late to them: what explains more than all other waiting.
  void divide_the_rest() {
    const double explained_s = waited_s_ + waited_for_files_s_ - left_s_;
    const double of_files_s = std::clamp(explained_s - waited_s_, 0.0, waited_for_files_s_);
    losses_.late_for_files_s = std::min(losses_.io_s, of_files_s);
    losses_.io_s -= losses_.late_for_files_s;
    losses_.io_s += losses_.io_waited_s;
    losses_.messages_s = std::max(0.0, waited_s_ - explained_s) + losses_.moving_s;
  }

  /// Outside waits and start-up, what no thread had a processor for, nor was ready to run; as far as the
  /// kernel says so.
  void add_sleep() {
    double asleep_s = 0, without_processor_s = 0;
    for (const database::ScheduledThread& thread : experiment_.machine().threads) {
      const double gone_s =
          (static_cast<double>(thread.work_ns) - static_cast<double>(thread.work_cpu_ns)) / kNsPerSecond;
      asleep_s += std::max(0.0, gone_s - blame::preempted(thread).work_ns / kNsPerSecond);
    }
    for (const RoleIdleness& role : diagnosis_.roles) {
      if (const std::optional<WorkTime> work = work_time(figures_, role.role))
        without_processor_s += std::max(0.0, work->wall_s - work->cpu_s);
    }
    losses_.asleep_s =
        std::max(0.0, std::min(asleep_s, without_processor_s) - (losses_.io_s - losses_.io_waited_s));
  }

  /// What other threads read and write meanwhile makes nobody wait by itself.
  [[nodiscard]] double main_threads_io_s() const {
    if (!read_or_written_) return 0;
    const std::vector<std::uint64_t> each_ns = figures_.per_thread(0, *read_or_written_, true);
    double sum = 0;
    for (const std::uint32_t location : main_threads_with_files(figures_))
      sum += static_cast<double>(each_ns[location]) / kNsPerSecond;
    return sum;
  }

  [[nodiscard]] double sum_of(const std::vector<ContextId>& contexts,
                              std::optional<std::uint32_t> metric) const {
    double sum = 0;
    for (std::uint32_t role = 0; metric && role < experiment_.roles.size(); ++role) {
      for (const ContextId context : contexts)
        sum += static_cast<double>(figures_.context(role, *metric, context, true).sum) / 1e9;
    }
    return sum;
  }

  void add_suspects() {
    for (std::size_t i = 0; i < experiment_.suspects().size(); ++i) {
      const database::Suspect& suspect = experiment_.suspects()[i];
      if (experiment_.run.ranks > 0 && waits_in_mpi(suspect.role)) add_suspect(suspect, i < kExamined);
    }
  }

  /// Other threads than main ones may wait for each other.
  [[nodiscard]] bool waits_in_mpi(std::uint32_t role) const {
    if (experiment_.roles[role].name == "main") return true;
    if (diagnosis_.roles[role].serves) return false;
    constexpr double kMostly = 0.5;
    const RoleIdleness& idleness = diagnosis_.roles[role];
    double in_mpi_s = 0;
    for (const IdleIn& call : idleness.where)
      if (call.in_mpi) in_mpi_s += call.seconds;
    return in_mpi_s > kMostly * idleness.idle_s;
  }

  /// Whether all others wait while one rank runs what only it does. Who does other work meanwhile waits for
  /// less.
  [[nodiscard]] bool is_serial(const SuspectFacts& facts) const {
    constexpr double kWhile = 0.8;
    const database::Suspect& suspect = *facts.suspect;
    const double others = static_cast<double>(experiment_.roles[suspect.role].threads) - 1;
    return suspect.locations.size() == 1 && facts.only_here &&
           seconds_of(suspect.explains_ns) >= kWhile * others * facts.work_s;
  }

  /// What a suspect explains of the waiting that counts: not of what is waited in start-up, where that is
  /// left out.
  [[nodiscard]] double explains_s(const database::Suspect& suspect) const {
    if (!diagnosis_.without_startup) return seconds_of(suspect.explains_ns);
    double sum = 0;
    for (const database::Explained& each : suspect.explained) {
      const bool counts = std::ranges::any_of(diagnosis_.blamed, [&](const Blamed& blamed) {
        return blamed.counts() && blamed.role == suspect.role && blamed.context == each.balanced;
      });
      if (counts) sum += seconds_of(each.ns);
    }
    return sum;
  }

  /// Reads per-thread values of those that are looked at closely, and of those that the words may name.
  void add_suspect(const database::Suspect& suspect, bool closely) {
    const double explained_s = explains_s(suspect);
    if (explained_s <= 0) return;
    SuspectFacts facts;
    if (closely || !lasting_) facts = examine(figures_, suspect);
    const bool io = closely && reads_or_writes(facts);
    const bool serial = closely && !io && is_serial(facts);
    std::optional<SuspectFacts>& first = io ? io_ : serial ? serial_ : lasting_;
    if (!first) first = facts;
    take(io ? losses_.io_waited_s : serial ? losses_.serial_s : losses_.lasting_s, explained_s);
  }

  /// What no lasting difference explains.
  void add_varying_work() {
    if (experiment_.trace().traced > 0) {
      take_caused();
      losses_.late_code_s = late_code_s();
      return;
    }
    for (const database::VaryingGap& gap : experiment_.varying_gaps())
      take(losses_.intermittent_s, seconds_of(gap.unexplained_ns));
  }

  /// What has a cause in the time lines, beyond what suspects explain: by when the ranks are late.
  void take_caused() {
    const double explained_s = losses_.serial_s + losses_.lasting_s;
    const Late late = who_is_late(experiment_.trace().time_map);
    double caused_s = -explained_s;
    for (const database::Cause& cause : experiment_.trace().causes) caused_s += seconds_of(cause.cost_ns());
    const auto take_of_it = [&](double& loss, double seconds) {
      seconds = std::clamp(seconds, 0.0, std::max(0.0, caused_s));
      take(loss, seconds);
      caused_s -= seconds;
    };
    take_of_it(losses_.lasting_s, late.lasting_s - explained_s);
    take_of_it(losses_.drifting_s, late.drifting_s);
    take_of_it(losses_.intermittent_s, caused_s);
  }

  /// What code of late ranks cost the others, beyond what ranks lacked a processor for in their work, which
  /// made each of the others wait at most.
  [[nodiscard]] double late_code_s() const {
    double cost_s = 0, lacked_s = 0;
    for (const database::Cause& cause : experiment_.trace().causes) {
      if (!is_in_call(experiment_, cause.scope)) cost_s += seconds_of(cause.cost_ns());
    }
    for (const database::ScheduledThread& thread : experiment_.machine().threads) {
      if (experiment_.locations[thread.location].rank >= 0)
        lacked_s += blame::preempted(thread).work_ns / kNsPerSecond;
    }
    const double others = std::max<double>(1, static_cast<double>(experiment_.run.ranks)) - 1;
    return std::max(0.0, cost_s - others * lacked_s);
  }

  /// Of the waiting in MPI that nothing explains so far.
  void take(double& loss, double seconds) {
    seconds = std::clamp(seconds, 0.0, left_s_);
    loss += seconds;
    left_s_ -= seconds;
  }

  const views::Figures& figures_;
  const database::Contents& experiment_;
  const Diagnosis& diagnosis_;
  std::optional<std::uint32_t> time_, idleness_, communication_, read_or_written_;
  Losses losses_;
  std::optional<SuspectFacts> lasting_, serial_, io_;
  double waited_s_ = 0, waited_for_files_s_ = 0;  ///< in MPI, in calls of MPI-IO apart
  double left_s_ = 0;                             ///< of both, what nothing explains so far
};

}  // namespace

double runnable_s(const database::ScheduledThread& thread) {
  const blame::Preempted preempted = blame::preempted(thread);
  return (preempted.work_ns + preempted.waits_ns) / kNsPerSecond;
}

MeasuredLosses measure_losses(const views::Figures& figures, const Diagnosis& diagnosis) {
  return Measurement(figures, diagnosis).measure();
}

Late who_is_late(const database::TimeMap& map) {
  constexpr std::size_t kParts = 8;
  if (map.rows.size() < 2 || map.bins < kParts) return {};
  const auto beyond_least = [&](std::size_t first, std::size_t end) {
    double least = std::numeric_limits<double>::max(), sum = 0;
    for (const database::TimeMap::Row& row : map.rows) {
      double in_calls = 0;
      for (std::size_t bin = first; bin < end; ++bin) in_calls += seconds_of(row.calls_ns[bin]);
      least = std::min(least, in_calls);
      sum += in_calls;
    }
    return sum - least * static_cast<double>(map.rows.size());
  };
  Late late{.lasting_s = beyond_least(0, map.bins)};
  for (std::size_t part = 0; part < kParts; ++part)
    late.drifting_s += beyond_least(part * map.bins / kParts, (part + 1) * map.bins / kParts);
  late.drifting_s -= late.lasting_s;
  return late;
}

}  // namespace culprit::viewer
