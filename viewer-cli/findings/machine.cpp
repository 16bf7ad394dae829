// What the machine did to the run, in words (docs/algorithms.md 5.6).
#include "findings/machine.hpp"

#include "blame/machine.hpp"
#include "blame/processor_sets.hpp"
#include "findings/crowded.hpp"
#include "findings/phrases.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "views/rank_list.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <string_view>

namespace culprit::viewer {
namespace {

using database::MachineKind;
using database::MachineSuspect;

constexpr std::uint64_t kManyOthers = 500;  // thousandths of a processor
constexpr double kNotableEffect = 0.05;     // of the idleness: what the machine explains

/// Thousandths, with a decimal where there is one.
std::string thousandths(std::uint64_t value) {
  const bool whole = value % 1000 < 50 || value % 1000 >= 950;
  return grouped(static_cast<double>(value) / 1000, whole ? 0 : 1);
}

std::string processors(std::uint64_t thousandth) {
  const std::string number = thousandths(thousandth);
  return keep(number + (number == "1" ? " processor" : " processors"));
}

/// `1 thread wants`, `2.6 threads want`.
std::string wanting(const MachineSuspect& suspect) {
  const std::string number = thousandths(suspect.wanted);
  return keep(number + (number == "1" ? " thread" : " threads")) + (number == "1" ? " wants" : " want");
}

/// Who it is about: ranks, else threads by name.
std::string who(const database::Contents& experiment, const MachineSuspect& suspect,
                const MachinePlace& place) {
  if (place.ranks.empty()) return threads_phrase(experiment, suspect.locations);
  const char* const of = suspect.locations.size() == 1 ? "rank " : "the threads of rank ";
  return (place.ranks.size() == 1 ? of : "ranks ") + views::format_rank_list(place.ranks);
}

/// How many sets of processors the suspect's threads may run on. One where they are not known, or not as
/// many as the suspect has. All threads must be on one host.
std::size_t sets_of_processors(const database::Contents& experiment, const MachineSuspect& suspect) {
  std::vector<const database::ScheduledThread*> threads;
  for (const database::ScheduledThread& thread : experiment.machine().threads) {
    if (!std::ranges::binary_search(suspect.locations, thread.location)) continue;
    if (thread.processors.empty()) return 1;
    threads.push_back(&thread);
  }
  const std::vector<blame::SharedProcessors> sets = blame::shared_processors(threads);
  const bool known =
      std::ranges::all_of(sets, [&](const auto& set) { return set.processors.size() == suspect.processors; });
  return known ? sets.size() : 1;
}

/// What threads that are bound to separate sets of processors have.
std::string sets_phrase(const MachineSuspect& suspect, const std::string& threads, std::size_t sets,
                        std::size_t ranks) {
  const std::string each = keep(counted(suspect.processors, "processor"));
  const std::string wanted = ", and up to " + wanting(suspect) + ' ';
  if (sets == ranks)
    return "each of " + threads + " has " + each + " of its own" + wanted +
           (suspect.processors == 1 ? "it" : "one of them") + " at a time";
  return threads + " are bound to " + keep(counted(sets, "separate set")) + " of " + each + wanted +
         "one of a set at a time";
}

/// Of one set of processors: ` share 2 processors`, ` may use only 1 of the 2 processors`.
std::string sharing(const database::Contents& experiment, const MachineSuspect& suspect) {
  const UsableProcessors processors = usable_processors(experiment, suspect.locations);
  if (processors.usable == suspect.processors && processors.usable < processors.online)
    return " may use only " + keep(grouped(suspect.processors)) + " of the " +
           keep(counted(processors.online, "processor"));
  return (suspect.locations.size() == 1 ? " shares " : " share ") +
         keep(counted(suspect.processors, "processor"));
}

std::string cause(const database::Contents& experiment, const MachineSuspect& suspect) {
  const MachinePlace place = place_of(experiment, suspect);
  const std::string threads = who(experiment, suspect, place);
  const std::string where = hosts_phrase(place.hosts) + ", ";
  const bool one = suspect.locations.size() == 1;
  const std::size_t sets = place.hosts.size() == 1 ? sets_of_processors(experiment, suspect) : 1;
  const bool bound = suspect.kind == MachineKind::bound_together ||
                     (suspect.kind == MachineKind::oversubscribed && !suspect.by_others);
  if (sets > 1 && bound) return where + sets_phrase(suspect, threads, sets, place.ranks.size()) + '.';
  switch (suspect.kind) {
    case MachineKind::oversubscribed: {
      if (suspect.by_others) {
        return where + "programs that were not measured take processors from " + threads +
               (suspect.others > 0 ? ": on average they used " + processors(suspect.others) : "") + '.';
      }
      // As it is written: not "share 1 processor, and 1 thread wants one".
      const bool crowded = suspect.wanted > std::uint64_t{suspect.processors} * 1000 &&
                           thousandths(suspect.wanted) != grouped(suspect.processors);
      return where + threads + sharing(experiment, suspect) +
             (crowded ? ", and " + wanting(suspect) + " one at a time" : "") +
             (suspect.others >= kManyOthers
                  ? ". Programs that were not measured used " + processors(suspect.others) + ", too"
                  : "") +
             '.';
    }
    case MachineKind::bound_together:
      return where + threads + (one ? " is" : " are") + " bound to the same " +
             keep(counted(suspect.processors, "processor")) +
             (suspect.free > 0 ? ", while " + processors(suspect.free) +
                                     (thousandths(suspect.free) == "1" ? " was idle" : " were idle")
                               : "") +
             '.';
    case MachineKind::quota:
      return where + "a control group's limit of " + processors(suspect.quota) + " stops " + threads + '.';
    case MachineKind::slow:
      break;
  }
  return where + threads + (one ? " needs" : " need") +
         " more CPU time than the others for the same number of instructions.";
}

bool has_ranks(const database::Contents& experiment) {
  return experiment.run.ranks > 0;
}

std::string advice(const database::Contents& experiment, const MachineSuspect& suspect) {
  const bool mpi = has_ranks(experiment);
  const std::string fewer = mpi ? "start fewer ranks or threads" : "start fewer threads";
  switch (suspect.kind) {
    case MachineKind::oversubscribed:
      if (suspect.by_others) return "Measure again where nothing else runs";
      if (const UsableProcessors all = usable_processors(experiment, suspect.locations);
          all.bound && all.usable == suspect.processors)
        return "They are bound to " + keep(counted(all.usable, "processor")) +
               (host_has_more(experiment, suspect.locations)
                    ? std::string(": let them use all of the host (such as ") +
                          (mpi ? "mpirun --bind-to none, " : "") + "without taskset), or " + fewer
                    : ", and other threads of the run may use the others: " + fewer +
                          (mpi ? ", or give each rank as many processors as it has threads," : ""));
      return mpi ? "Start fewer ranks or threads per host" : "Start fewer threads";
    case MachineKind::bound_together:
      if (sets_of_processors(experiment, suspect) > 1)
        return "Bind each rank to as many processors as it has threads (for example mpirun --map-by "
               "slot:PE=2)";
      return "Bind each rank to processors of its own (for example mpirun --bind-to core)";
    case MachineKind::quota:
      return "Raise that limit, or " + fewer;
    case MachineKind::slow:
      break;
  }
  return "Compare these processors with the others: clock rate, temperature, memory";
}

/// Of the suspect's threads, in seconds.
struct SuspectTimes {
  double work_s = 0;  ///< outside waits
  double preempted_in_waits_s = 0;
};

SuspectTimes times_of(const database::Contents& experiment, const MachineSuspect& suspect) {
  SuspectTimes times;
  for (const database::ScheduledThread& thread : experiment.machine().threads) {
    if (!std::ranges::binary_search(suspect.locations, thread.location)) continue;
    times.work_s += seconds_of(thread.work_ns);
    times.preempted_in_waits_s += blame::preempted(thread).waits_ns / kNsPerSecond;
  }
  return times;
}

bool are_words(std::string_view who) {
  return who.starts_with("rank") || who.starts_with("thread") || who.starts_with("the ");
}

std::string effect(const database::Contents& experiment, const MachineSuspect& suspect, double idle_s,
                   bool unicode) {
  const auto time = [&](double seconds) { return keep(duration(seconds, unicode)); };
  const double lost_s = seconds_of(suspect.lost_ns);
  const double explains_s = std::min(seconds_of(suspect.explains_ns), idle_s);
  const bool slow = suspect.kind == MachineKind::slow;
  const SuspectTimes times = times_of(experiment, suspect);
  const bool one = suspect.locations.size() == 1;
  std::string threads = who(experiment, suspect, place_of(experiment, suspect));
  // A process that is no rank has its host's name.
  if (are_words(threads)) threads = capitalized(std::move(threads));
  std::string text = slow ? "That is " + time(lost_s) + " too much"
                          : threads + (one ? " was" : " were") +
                                " ready to run, without a processor, for at least " + time(lost_s);
  if (!slow && times.work_s > 0) {
    text += ", " + keep(round_percent(std::min(1.0, lost_s / times.work_s))) +
            (one ? " of its work" : " of their work");
  }
  if (explains_s >= kNotableEffect * idle_s && explains_s > 0)
    text += std::string(explains_s > lost_s && !slow ? "; as the others wait for those that lacked one most,"
                                                     : ";") +
            " this explains at most " + time(explains_s) + " of the " + time(idle_s) + " of waiting";
  if (!slow && times.preempted_in_waits_s >= kNotableEffect * idle_s && times.preempted_in_waits_s > 0) {
    const bool mpi = has_ranks(experiment);
    text += std::string(mpi ? ". In MPI calls and waits " : ". In waits ") + (one ? "it" : "they") +
            " lacked one for another " + time(times.preempted_in_waits_s) +
            (mpi ? ", and may have noticed messages late" : "");
  }
  return text + '.';
}

/// Where no suspect says what to do.
std::string starved_advice(const database::Contents& experiment) {
  const std::vector<Crowd> crowds = find_crowds(experiment);
  const bool bound = crowded_hosts_phrase(experiment).empty() && !crowds.empty() && crowds.front().bound;
  const bool more = bound && host_has_more(experiment, crowds.front().locations);
  const char* const first =
      !has_ranks(experiment)
          ? (more ? "Let it use more processors, or start fewer threads," : "Start fewer threads,")
      : more  ? "Bind each rank to as many processors as it has threads, or start fewer threads,"
      : bound ? "Start fewer ranks or threads per host"
              : "Start fewer ranks or threads per host, and bind each rank to processors of its own,";
  return std::string(first) + " before you change code.";
}

/// ` Waiting OpenMP workers took 50 % of the CPU time: …`; empty where that is little, or others take the
/// processors.
std::string spinning_phrase(const database::Contents& experiment) {
  constexpr double kNotable = 0.2;
  const database::Machine& machine = experiment.machine();
  if (!machine.suspects.empty() && machine.suspects.front().by_others) return {};
  double waited_ns = 0, all_ns = 0;
  for (const database::ScheduledThread& thread : machine.threads) {
    all_ns += static_cast<double>(thread.cpu_ns);
    if (!experiment.roles[experiment.locations[thread.location].role].name.starts_with("OpenMP")) continue;
    waited_ns += static_cast<double>(thread.cpu_ns - std::min(thread.cpu_ns, thread.work_cpu_ns));
  }
  if (waited_ns <= kNotable * all_ns) return {};
  return " Waiting OpenMP workers took " + keep(round_percent(waited_ns / all_ns)) +
         " of the CPU time: with OMP_WAIT_POLICY=passive they sleep instead.";
}

std::string starved_waits_phrase(const database::Contents& experiment, double seconds, bool unicode) {
  std::string crowded = crowded_hosts_phrase(experiment);
  const std::vector<Crowd> crowds = find_crowds(experiment);
  if (crowded.empty() && !crowds.empty()) crowded = crowd_phrase(experiment, crowds.front());
  return "The machine is the first suspect: " +
         (crowded.empty() ? "threads were ready to run, without a processor, for "
                          : crowded + ". Threads were ready to run, without one, for ") +
         keep(duration(seconds, unicode)) + ", most of it in " +
         (has_ranks(experiment) ? "MPI calls and waits" : "waits") +
         ": others that wait, or other programs, used them. " + starved_advice(experiment);
}

}  // namespace

MachinePlace place_of(const database::Contents& experiment, const MachineSuspect& suspect) {
  std::set<std::string> hosts;
  std::set<std::int32_t> ranks;
  for (const std::uint32_t location : suspect.locations) {
    const database::LocationEntry self = experiment.locations[location];
    hosts.emplace(self.host);
    if (self.rank >= 0) ranks.insert(self.rank);
  }
  return {.hosts = {hosts.begin(), hosts.end()}, .ranks = {ranks.begin(), ranks.end()}};
}

std::string machine_kind(MachineKind kind) {
  switch (kind) {
    case MachineKind::oversubscribed:
      return "oversubscribed";
    case MachineKind::bound_together:
      return "bound-together";
    case MachineKind::quota:
      return "quota";
    case MachineKind::slow:
      break;
  }
  return "slow";
}

std::vector<std::string> machine_phrases(const database::Contents& experiment, const Verdict& verdict,
                                         double idle_s, bool unicode) {
  std::vector<std::string> phrases;
  for (const MachineSuspect& suspect : experiment.machine().suspects) {
    const bool first = phrases.empty() &&
                       (verdict.kind == VerdictKind::starved || suspect.kind == database::MachineKind::slow);
    phrases.push_back((first             ? "The machine is the first suspect: "
                       : phrases.empty() ? "The machine takes time, too: "
                                         : "The machine, too: ") +
                      cause(experiment, suspect) + ' ' + effect(experiment, suspect, idle_s, unicode) + ' ' +
                      advice(experiment, suspect) + (first ? " before you change code." : "."));
  }
  if (phrases.empty() && verdict.kind == VerdictKind::starved)
    phrases.push_back(
        starved_waits_phrase(experiment,
                             std::max({verdict.losses.runnable_s,
                                       verdict.losses.no_processor_s + verdict.losses.perhaps_no_processor_s,
                                       verdict.losses.crowded_s}),
                             unicode));
  if (!phrases.empty() && verdict.kind == VerdictKind::starved)
    phrases.front() += spinning_phrase(experiment);
  return phrases;
}

std::vector<std::string> phrases_beyond_starved(const database::Contents& experiment, double idle_s,
                                                bool unicode) {
  std::vector<std::string> phrases;
  for (const MachineSuspect& suspect : experiment.machine().suspects) {
    const bool slow = suspect.kind == MachineKind::slow;
    phrases.push_back(capitalized(cause(experiment, suspect)) + ' ' +
                      (slow ? effect(experiment, suspect, idle_s, unicode) + ' ' : "") +
                      advice(experiment, suspect) + (phrases.empty() ? " before you change code." : "."));
  }
  if (phrases.empty())
    phrases.push_back("Others that wait, or other programs, used the processors. " +
                      starved_advice(experiment));
  phrases.front() += spinning_phrase(experiment);
  return phrases;
}

std::optional<double> runnable_share(const database::Contents& experiment, std::uint32_t role) {
  double runnable = 0;
  double lacking = 0;
  for (const database::ScheduledThread& thread : experiment.machine().threads) {
    if (experiment.locations[thread.location].role != role || thread.work_ns <= thread.work_cpu_ns) continue;
    const auto lack = static_cast<double>(thread.work_ns - thread.work_cpu_ns);
    runnable += std::min(static_cast<double>(thread.runnable_ns), lack);
    lacking += lack;
  }
  if (lacking <= 0) return std::nullopt;
  return runnable / lacking;
}

}  // namespace culprit::viewer
