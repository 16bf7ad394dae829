#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

namespace culprit::stacks {

/// A process to look at.
struct Target {
  pid_t pid = 0;
  std::int32_t rank = -1;  ///< -1: none
};

/// The processes of a job that run on this host.
struct Job {
  std::vector<Target> targets;     ///< by rank
  std::vector<std::string> notes;  ///< of what runs elsewhere, and the command that looks at it there
};

/// These processes, with the ranks that their environments name. A thread's number stands for its process.
/// Throws std::runtime_error, what() as `what: why (what to do)`, where one does not exist.
Job job_of_processes(const std::vector<pid_t>& pids);

/// The ranks below a launcher (mpirun, mpiexec, srun), its daemon or a script that started it; without those
/// shells and launchers that only wait for a rank. Throws as above where there is none.
Job job_below(pid_t launcher);

/// The processes of a measurement directory that live. Throws as above where none does.
Job job_of_measurement(const std::filesystem::path& directory);

}  // namespace culprit::stacks
