#pragma once

#include "stacks/processes.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

// What launchers of jobs (Open MPI's mpirun, MPICH's mpiexec, Slurm's srun) run on other hosts, and how they
// start a program there.
namespace culprit::stacks {

/// Of a host, without its domain: launchers may shorten names, or write them whole.
std::string_view short_name(std::string_view host);

enum class Means : std::uint8_t { open_mpi, hydra, slurm };

/// What a job is called on each of its hosts: `openmpi:1460994048`, `hydra:node1:32907`, `slurm:4711.0`.
struct JobName {
  Means means = Means::open_mpi;
  /// Of Open MPI: the number of mpirun's own job, or the name space of prterun without `@` and what follows.
  /// Of hydra: the control port of mpiexec. Of Slurm: JOB.STEP, or JOB for all steps.
  std::string id;
  friend bool operator==(const JobName&, const JobName&) = default;
};

std::string text_of(const JobName& name);
/// Nothing where it is no such name.
std::optional<JobName> parse_job_name(std::string_view text);

/// The name of the job whose rank has this environment; nothing where it holds none (hydra).
std::optional<JobName> job_name_of(const Environment& environment);
/// Whether a process with this environment is of that job; of hydra's jobs never, whose environments name
/// none.
bool is_of_job(const Environment& environment, const JobName& name);
/// Of one of a job's daemons, from its command line; nothing where it is none.
std::optional<JobName> job_name_of_daemon(std::span<const std::string> command_line);

/// A command that starts a launcher's daemon on other hosts: `ssh node2 orted …`, `srun --nodelist=… orted`.
struct DaemonStart {
  JobName job;
  std::vector<std::string> hosts;    ///< without the launcher's own
  std::string node_list;             ///< Slurm's, in its own short form, in place of hosts
  std::string agent, agent_program;  ///< of hydra: its options -launcher and -launcher-exec
};
std::optional<DaemonStart> daemon_start(const std::vector<std::string>& command_line);

/// `node[3:1-2],login@0(3)`, as Open MPI 4 shortens lists of nodes: node001, node002, login.
std::vector<std::string> expand_node_regex(std::string_view regex);

/// A launcher that runs on this host and has a part of its job on others.
struct Launcher {
  JobName job;
  pid_t pid = 0;
  Means means = Means::open_mpi;  ///< by which it starts programs: mpirun may do that by Slurm
  std::string program;            ///< the launcher's file
  std::vector<std::string> options;
  std::string allocation;          ///< Slurm's number of the job
  std::vector<std::string> hosts;  ///< others than this one; empty where they could not be found
};

/// Those among these processes. Asks Slurm where srun is among them.
std::vector<Launcher> launchers_among(std::span<const ProcessEntry> processes);

/// The command that starts a program on a host as the launcher does.
std::vector<std::string> command_on(const Launcher& launcher, const std::string& host,
                                    std::span<const std::string> program);
/// The environment for it, each NAME=VALUE: this program's, and the launcher's own variables as it has them.
std::vector<std::string> environment_for(const Launcher& launcher);

}  // namespace culprit::stacks
