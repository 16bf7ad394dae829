#pragma once

#include "stacks/elsewhere.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/types.h>

namespace culprit::stacks {

/// A process to look at.
struct Target {
  pid_t pid = 0;
  std::int32_t rank = -1;  ///< -1: none
};

/// A job, as far as this host knows it.
struct Job {
  std::vector<Target> targets;       ///< its processes on this host, by rank
  std::vector<Elsewhere> elsewhere;  ///< what of it runs on other hosts, where those can be asked
  std::vector<std::string> notes;    ///< of what cannot be looked at from here, and what to do
  std::vector<std::string> unseen;   ///< processes that were named and cannot be looked at: `what: why`
  std::int32_t ranks = 0;            ///< how many it has; 0: unknown
  std::optional<JobName> name;
  std::string daemon;  ///< of its launcher, as on other hosts; empty: unknown
};

/// No process of a job runs on this host: no error where others are asked too.
class NobodyHere : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Those of these processes that exist, with the ranks that their environments name. A thread's number stands
/// for its process.
Job job_of_processes(const std::vector<pid_t>& pids);

/// The ranks below a launcher (mpirun, mpiexec, srun), its daemon or a script that started it; without those
/// shells and launchers that only wait for a rank. `here`: nothing of other hosts. Throws std::runtime_error,
/// what() as `what: why (what to do)`, where there is none.
Job job_below(pid_t launcher, bool here);

/// The ranks of a job on this host. Throws as above where there is none.
Job job_named(const JobName& name);

/// The processes of a measurement directory that live; `here` as above. Throws as above where none does.
Job job_of_measurement(const std::filesystem::path& directory, bool here);

/// What to say of ranks that were seen nowhere, if there are any. `asked`: other hosts were.
std::string missing_note(const Job& job, const std::set<std::int32_t>& seen, bool asked);

}  // namespace culprit::stacks
