#include "runtime/process/wanted.hpp"

#include "runtime/process/identity.hpp"
#include "runtime/state/process.hpp"

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace culprit::runtime {
namespace {

/// Programs that start others: what they do is not the user's program.
constexpr const char* kShells[] = {"sh",   "bash", "dash", "zsh",  "ksh",
                                   "mksh", "csh",  "tcsh", "fish", "busybox"};
constexpr const char* kStarters[] = {"hpcrun-lite",
                                     "mpirun",
                                     "mpiexec",
                                     "orterun",
                                     "orted",
                                     "prte",
                                     "prted",
                                     "prterun",
                                     "mpiexec.hydra",
                                     "mpiexec.mpich",
                                     "hydra_pmi_proxy",
                                     "hydra_nameserver",
                                     "hydra_bstrap_proxy",
                                     "srun",
                                     "slurmstepd",
                                     "ssh",
                                     "rsh",
                                     "sshd",
                                     "env",
                                     "nice",
                                     "numactl",
                                     "taskset",
                                     "time",
                                     "timeout"};

template <std::size_t Count>
bool listed(const char* name, const char* const (&names)[Count]) {
  for (const char* candidate : names) {
    if (strcmp(name, candidate) == 0) return true;
  }
  return false;
}

bool in_mpi_job() {
  return getenv("OMPI_COMM_WORLD_RANK") != nullptr || getenv("PMI_RANK") != nullptr ||
         getenv("PMIX_RANK") != nullptr;
}

const char* program_name() {
  const char* slash = strrchr(program_path(), '/');
  return slash == nullptr ? program_path() : slash + 1;
}

}  // namespace

bool to_be_measured() {
  if (listed(program_name(), kStarters)) return false;
  return !is_shell() || (process.launched && !in_mpi_job());
}

bool is_shell() {
  return listed(program_name(), kShells);
}

}  // namespace culprit::runtime
