// Which processes are a job's ranks. Launchers give each rank its number in its environment, which what it
// starts inherits: a shell around the program, or a command that the program runs. Of the processes with one
// number below each other, the outermost that has loaded an MPI library is the rank; where none has (a
// program that is linked statically), the outermost that is no shell. Tasks of srun are not below it: they
// are found by the names of job and step in their environments.
#include "stacks/job.hpp"

#include "measurement/find.hpp"
#include "measurement/measurement.hpp"
#include "print/text.hpp"
#include "stacks/commands.hpp"
#include "stacks/processes.hpp"
#include "stacks/refusal.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>

#include <sys/stat.h>
#include <unistd.h>

namespace culprit::stacks {
namespace {

constexpr std::array<std::string_view, 22> kShells = {
    "sh",    "bash",  "dash",   "zsh",     "ksh",     "csh",  "tcsh", "fish",        "env",
    "time",  "nice",  "nohup",  "timeout", "numactl", "perf", "gdb",  "hpcrun-lite", "hydra_pmi_proxy",
    "orted", "prted", "mpirun", "mpiexec"};

bool is_shell(const ProcessEntry& process) {
  return std::ranges::find(kShells, process.name) != kShells.end();
}

/// Slurm numbers daemons of launchers that it starts as if they were ranks, and a batch script with what it
/// starts: its srun, too.
bool is_of_launcher(const ProcessEntry& process) {
  constexpr std::array<std::string_view, 4> kNames = {"hydra_pmi_proxy", "orted", "prted", "srun"};
  return std::ranges::find(kNames, process.name) != kNames.end();
}

/// A rank's number, and whose: a process below the launcher.
struct Numbered {
  ProcessEntry process;
  std::int32_t rank = -1;
  std::int32_t ranks = 0;  ///< of its job; 0: unknown
  bool open_mpi = false;
  bool prrte = false;   ///< its launcher is that of Open MPI 5
  pid_t outermost = 0;  ///< of those with this number above it, itself included
};

/// All below `root`, parents first.
std::vector<ProcessEntry> descendants_of(pid_t root) {
  std::map<pid_t, std::vector<ProcessEntry>> children;
  for (const ProcessEntry& each : all_processes()) children[each.parent].push_back(each);
  std::vector<ProcessEntry> found;
  std::set<pid_t> known = {root};
  const auto add = [&](pid_t parent) {
    for (const ProcessEntry& each : children[parent]) {
      if (known.insert(each.pid).second) found.push_back(each);
    }
  };
  add(root);
  // NOLINTNEXTLINE(modernize-loop-convert): it grows meanwhile
  for (std::size_t i = 0; i < found.size(); ++i) add(found[i].pid);
  return found;
}

/// Parents stand before their children.
std::vector<Numbered> numbered_among(std::vector<ProcessEntry> processes) {
  std::vector<Numbered> found;
  for (ProcessEntry& process : processes) {
    if (process.pid == getpid() || is_of_launcher(process)) continue;
    const Environment environment(process.pid);
    const auto rank = rank_of(environment);
    if (!rank) continue;
    Numbered one{.process = std::move(process),
                 .rank = *rank,
                 .ranks = ranks_of_job(environment).value_or(0),
                 .open_mpi = environment.find("OMPI_COMM_WORLD_RANK").has_value(),
                 .prrte = environment.find("PRTE_LAUNCHED").has_value(),
                 .outermost = 0};
    const auto parent =
        std::ranges::find(found, one.process.parent, [](const Numbered& each) { return each.process.pid; });
    const bool inherited = parent != found.end() && parent->rank == one.rank;
    one.outermost = inherited ? parent->outermost : one.process.pid;
    found.push_back(std::move(one));
  }
  // Within a batch script of Slurm, launchers and their daemons have a number too.
  const bool by_open_mpi = std::ranges::any_of(found, [](const Numbered& each) { return each.open_mpi; });
  if (by_open_mpi) std::erase_if(found, [](const Numbered& each) { return !each.open_mpi; });
  return found;
}

/// Of those with one number below each other, in order.
pid_t choose(const std::vector<const Numbered*>& family) {
  for (const Numbered* const each : family) {
    if (uses_mpi(each->process.pid)) return each->process.pid;
  }
  for (const Numbered* const each : family) {
    if (!is_shell(each->process)) return each->process.pid;
  }
  return family.front()->process.pid;
}

/// Those of a job, parents first.
std::vector<ProcessEntry> processes_of(const JobName& name) {
  constexpr pid_t kAll = 0;
  std::vector<ProcessEntry> all = descendants_of(kAll);
  if (name.means != Means::hydra) {
    std::erase_if(all, [&](const ProcessEntry& each) { return !is_of_job(Environment(each.pid), name); });
    return all;
  }
  std::vector<ProcessEntry> found;
  for (const ProcessEntry& each : all) {
    if (job_name_of_daemon(command_line_of(each.pid)) != name) continue;
    std::vector<ProcessEntry> below = descendants_of(each.pid);
    std::ranges::move(below, std::back_inserter(found));
  }
  return found;
}

/// What the launchers, the ranks or the daemons say.
std::optional<JobName> name_of(const std::vector<Launcher>& launchers, const std::vector<Numbered>& numbered,
                               const std::vector<ProcessEntry>& processes) {
  if (!launchers.empty()) return launchers.front().job;
  for (const Numbered& each : numbered) {
    if (auto name = job_name_of(Environment(each.process.pid))) return name;
  }
  for (const ProcessEntry& each : processes) {
    if (auto name = job_name_of_daemon(command_line_of(each.pid))) return name;
  }
  return std::nullopt;
}

/// Throws where the environments of processes below `root` may not be read.
void refuse_hidden_ranks(pid_t root) {
  for (const ProcessEntry& process : descendants_of(root)) {
    const std::string file = "/proc/" + std::to_string(process.pid) + "/environ";
    if (::access(file.c_str(), R_OK) != 0 && errno == EACCES)
      throw std::runtime_error(explain_refusal(process.pid, EACCES));
  }
}

void sort_by_rank(std::vector<Target>& targets) {
  std::ranges::stable_sort(targets, {},
                           [](const Target& target) { return std::pair(target.rank < 0, target.rank); });
}

std::uint64_t read_clock(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

/// Whether the process that was measured lives; one that started later, or of a container with numbers of its
/// own, has its number by chance.
bool lives(const measurement::ProcessInfo& measured) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  const auto process = find_process(static_cast<pid_t>(measured.pid));
  if (!process || !has_memory(process->pid) || !is_measured(process->pid)) return false;
  const auto per_second = static_cast<std::uint64_t>(std::max(1L, sysconf(_SC_CLK_TCK)));
  const std::uint64_t started = process->start * (kSecond / per_second);
  const std::uint64_t asleep = read_clock(CLOCK_BOOTTIME) - read_clock(CLOCK_MONOTONIC);
  return started <= measured.start_ns + asleep + kSecond;
}

/// A process that forks or executes another program leaves several files.
void add_measured(const measurement::ProcessInfo& measured, std::vector<Target>& targets) {
  const auto pid = static_cast<pid_t>(measured.pid);
  const std::int32_t rank = measured.forked ? -1 : measured.rank.value_or(-1);
  const auto same = std::ranges::find(targets, pid, &Target::pid);
  if (same == targets.end()) {
    targets.push_back({pid, rank});
  } else if (rank >= 0) {
    same->rank = rank;
  }
}

/// One for each family of processes with one number.
void add_ranks(const std::vector<Numbered>& numbered, Job& job) {
  std::map<pid_t, std::vector<const Numbered*>> families;
  for (const Numbered& each : numbered) families[each.outermost].push_back(&each);
  for (const auto& [outermost, family] : families)
    job.targets.push_back({choose(family), family.front()->rank});
  sort_by_rank(job.targets);
  if (numbered.empty()) return;
  const Numbered& first = numbered.front();
  job.ranks = first.ranks;
  job.daemon = first.prrte ? "prted" : first.open_mpi ? "orted" : "hydra_pmi_proxy";
}

/// Processes of a measurement on other hosts, by host.
using OnHosts = std::map<std::string, std::size_t>;

void add_elsewhere(const std::filesystem::path& directory, const OnHosts& on_hosts, Job& job) {
  std::set<std::string> hosts;
  for (const auto& [host, processes] : on_hosts) hosts.insert(host);
  std::vector<pid_t> here;
  for (const Target& target : job.targets) here.push_back(target.pid);
  const std::vector<Launcher> launchers = hosts.empty() ? std::vector<Launcher>() : launchers_of(hosts, here);
  job.elsewhere = elsewhere_of(launchers, job.notes);
  std::error_code error;
  for (Elsewhere& each : job.elsewhere) each.subject = {std::filesystem::absolute(directory, error).string()};
  if (!job.elsewhere.empty()) return;
  for (const auto& [name, processes] : on_hosts)
    job.notes.push_back(std::to_string(processes) + (processes == 1 ? " process runs" : " processes run") +
                        " on host " + print::spelled(name) + " (look there: viewer-cli stacks " +
                        print::shell_path(directory.string()) + ")");
}

}  // namespace

Job job_of_processes(const std::vector<pid_t>& pids) {
  Job job;
  for (const pid_t number : pids) {
    const pid_t pid = process_of_thread(number);
    if (std::ranges::find(job.targets, pid, &Target::pid) != job.targets.end()) continue;
    if (!find_process(pid)) {
      const bool hidden = ::kill(pid, 0) != 0 && errno == EPERM;
      job.unseen.push_back(
          "process " + std::to_string(number) +
          (hidden ? ": not permitted: it belongs to another user, and /proc hides it (run viewer-cli as that "
                    "user or as root)"
                  : ": there is none on this host (ps -e lists those that there are)"));
      continue;
    }
    job.targets.push_back({pid, rank_of(Environment(pid)).value_or(-1)});
  }
  sort_by_rank(job.targets);
  return job;
}

Job job_below(pid_t launcher, bool here) {
  const std::string name = "job of process " + std::to_string(launcher);
  auto self = find_process(launcher);
  if (!self)
    throw std::runtime_error(name +
                             ": there is no such process on this host (give the number of mpirun or "
                             "mpiexec: pgrep -a mpi)");
  std::vector<ProcessEntry> processes = descendants_of(launcher);
  std::vector<Numbered> numbered = numbered_among(processes);
  processes.push_back(std::move(*self));
  const std::vector<Launcher> launchers = launchers_among(processes);
  for (const Launcher& each : launchers) {
    if (each.job.means != Means::slurm) continue;
    std::vector<Numbered> tasks = numbered_among(processes_of(each.job));
    std::ranges::move(tasks, std::back_inserter(numbered));
  }
  Job job;
  if (!here) job.elsewhere = elsewhere_of(launchers, job.notes);
  if (numbered.empty() && job.elsewhere.empty()) {
    refuse_hidden_ranks(launcher);
    throw std::runtime_error(name + ": no process below " + label_of(launcher) +
                             " is a rank (name the processes: viewer-cli stacks PID...)");
  }
  job.name = name_of(launchers, numbered, processes);
  add_ranks(numbered, job);
  return job;
}

Job job_named(const JobName& name) {
  Job job;
  job.name = name;
  add_ranks(numbered_among(processes_of(name)), job);
  if (job.targets.empty())
    throw NobodyHere("job " + print::spelled(text_of(name)) +
                     ": no process of it runs on this host (look on another one)");
  return job;
}

std::string missing_note(const Job& job, const std::set<std::int32_t>& seen, bool asked) {
  const auto ranks = static_cast<std::size_t>(std::max(job.ranks, 0));
  if (ranks <= seen.size()) return "";
  const std::string number = std::to_string(ranks - seen.size()) + " of " + std::to_string(ranks) + " ranks ";
  const bool one = seen.size() + 1 == ranks;
  const std::string fate = one ? ": it has ended, or runs " : ": they have ended, or run ";
  if (asked)
    return number + (one ? "was" : "were") + " found on no host" + fate +
           "where no launcher of this host knows";
  return number + (one ? "is" : "are") + " not here" + fate + "on " + (one ? "another host" : "other hosts") +
         " (on each of them: viewer-cli stacks --job " +
         (job.name ? print::shell_word(text_of(*job.name)) : "$(pgrep -n -x " + job.daemon + ")") + ")";
}

Job job_of_measurement(const std::filesystem::path& directory, bool here) {
  Job job;
  OnHosts elsewhere;
  const std::string host = own_host();
  measurement::Reader reader;
  try {
    measurement::for_each_measurement(directory, [&](const std::filesystem::path& file) {
      try {
        const measurement::ProcessInfo& measured =
            reader.read(file.string(), measurement::Extent::process).process;
        if (measured.end != measurement::EndReason::running) return;
        if (measured.host != host) {
          ++elsewhere[measured.host];
        } else if (lives(measured)) {
          add_measured(measured, job.targets);
        }
      } catch (const measurement::MeasurementError& error) {
        job.notes.push_back(print::spelled(error.path().string()) + ": " + error.what());
      }
    });
  } catch (const measurement::MeasurementError& error) {
    throw std::runtime_error(print::spelled(error.path().string()) + ": " + error.what());
  }
  if (!here) add_elsewhere(directory, elsewhere, job);
  if (job.targets.empty() && job.elsewhere.empty())
    throw NobodyHere(
        print::spelled(directory.string()) + ": no process of it runs on this host" +
        (job.notes.empty() ? " (what was measured: viewer-cli DIR report)" : ": " + job.notes.front()));
  sort_by_rank(job.targets);
  return job;
}

}  // namespace culprit::stacks
