// Which processes are a job's ranks. Launchers tell each rank its number in its environment, which what it
// starts inherits: a shell around the program, or a command that the program runs. Of the processes with one
// number below each other, the outermost that has loaded an MPI library is the rank; where none has (a
// program that is linked statically), the outermost that is no shell.
#include "stacks/job.hpp"

#include "measurement/find.hpp"
#include "measurement/measurement.hpp"
#include "print/text.hpp"
#include "stacks/processes.hpp"
#include "stacks/refusal.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
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

std::vector<Numbered> numbered_below(pid_t root) {
  std::vector<Numbered> found;
  for (ProcessEntry& process : descendants_of(root)) {
    if (process.pid == getpid()) continue;
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
  const bool told = std::ranges::any_of(found, [](const Numbered& each) { return each.open_mpi; });
  if (told) std::erase_if(found, [](const Numbered& each) { return !each.open_mpi; });
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

std::string elsewhere_note(const std::vector<Numbered>& numbered, std::size_t here) {
  const auto ranks = static_cast<std::size_t>(numbered.front().ranks);
  if (ranks <= here) return "";
  const char* const daemon = numbered.front().prrte      ? "prted"
                             : numbered.front().open_mpi ? "orted"
                                                         : "hydra_pmi_proxy";
  return std::to_string(ranks - here) + " of " + std::to_string(ranks) +
         " ranks are not here: they have ended, or run on other hosts (on each of them: viewer-cli stacks "
         "--job $(pgrep -n -x " +
         daemon + "))";
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

std::string own_host() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
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
  if (!process || !is_measured(process->pid)) return false;
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

}  // namespace

Job job_of_processes(const std::vector<pid_t>& pids) {
  Job job;
  for (const pid_t number : pids) {
    const pid_t pid = process_of_thread(number);
    if (std::ranges::find(job.targets, pid, &Target::pid) != job.targets.end()) continue;
    if (!find_process(pid))
      throw std::runtime_error("process " + std::to_string(number) +
                               ": there is none on this host (ps -e lists those that there are)");
    job.targets.push_back({pid, rank_of(Environment(pid)).value_or(-1)});
  }
  sort_by_rank(job.targets);
  return job;
}

Job job_below(pid_t launcher) {
  const std::string name = "job of process " + std::to_string(launcher);
  if (!find_process(launcher))
    throw std::runtime_error(name +
                             ": there is no such process on this host (give the number of mpirun or "
                             "mpiexec: pgrep -a mpi)");
  const std::vector<Numbered> numbered = numbered_below(launcher);
  if (numbered.empty()) {
    refuse_hidden_ranks(launcher);
    throw std::runtime_error(name + ": no process below " + label_of(launcher) +
                             " is a rank (name the processes: viewer-cli stacks PID...)");
  }
  std::map<pid_t, std::vector<const Numbered*>> families;
  for (const Numbered& each : numbered) families[each.outermost].push_back(&each);
  Job job;
  std::set<std::int32_t> ranks;
  for (const auto& [outermost, family] : families) {
    job.targets.push_back({choose(family), family.front()->rank});
    ranks.insert(family.front()->rank);
  }
  sort_by_rank(job.targets);
  if (std::string note = elsewhere_note(numbered, ranks.size()); !note.empty()) job.notes.push_back(note);
  return job;
}

Job job_of_measurement(const std::filesystem::path& directory) {
  Job job;
  std::map<std::string, std::size_t> elsewhere;
  const std::string host = own_host();
  measurement::Reader reader;
  try {
    measurement::for_each_measurement(directory, [&](const std::filesystem::path& file) {
      try {
        const measurement::ProcessInfo& measured =
            reader.read(file.string(), measurement::Extent::process).process;
        if (measured.end != measurement::EndReason::running) return;
        if (measured.host != host) {
          ++elsewhere[print::spelled(measured.host)];
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
  for (const auto& [name, processes] : elsewhere)
    job.notes.push_back(std::to_string(processes) + (processes == 1 ? " process runs" : " processes run") +
                        " on host " + name + " (look there: viewer-cli stacks " +
                        print::shell_path(directory.string()) + ")");
  if (job.targets.empty())
    throw std::runtime_error(
        print::spelled(directory.string()) + ": no process of it runs on this host" +
        (job.notes.empty() ? " (what was measured: viewer-cli DIR report)" : ": " + job.notes.front()));
  sort_by_rank(job.targets);
  return job;
}

}  // namespace culprit::stacks
