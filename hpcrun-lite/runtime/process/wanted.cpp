// Decides by its name whether a program is measured: those that start others (shells, launchers, ssh) are
// not. If a rank was started without the MPI wrappers, by an mpirun in a measured script, it executes its
// program again with them preloaded, before anything is set up: only a library that is loaded at the start
// stands before the program's MPI.
#include "runtime/process/wanted.hpp"

#include "measurement/launch_variables.hpp"
#include "runtime/process/identity.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/system_calls.hpp"
#include "runtime/system/text.hpp"

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

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

template <std::size_t Count>
bool any_is_set(const std::array<const char*, Count>& variables) {
  for (const char* variable : variables) {
    if (getenv(variable) != nullptr) return true;
  }
  return false;
}

bool in_mpi_job() {
  return any_is_set(measurement::kRankVariables);
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

bool started_as_one_of_ranks() {
  if (!in_mpi_job()) return false;
  for (const char* variable : measurement::kRanksVariables) {
    if (const char* ranks = getenv(variable); ranks != nullptr) return strtol(ranks, nullptr, 10) > 1;
  }
  return false;
}

bool is_shell() {
  return listed(program_name(), kShells);
}

namespace {

constexpr const char* kOpenMpi = "libculprit-openmpi.so";
constexpr const char* kMpich = "libculprit-mpich.so";

/// By soname, as the launcher chooses: a major version of libmpi is a binary interface of its own.
struct Known {
  const char* library;
  const char* wrapper;
};
constexpr Known kKnown[] = {{"libmpi.so.40", kOpenMpi}, {"libmpich.so.12", kMpich}, {"libmpi.so.12", kMpich}};

int look_at(dl_phdr_info* info, std::size_t /*size*/, void* wrapper) {
  const char* slash = strrchr(info->dlpi_name, '/');
  const char* name = slash == nullptr ? info->dlpi_name : slash + 1;
  for (const Known& known : kKnown) {
    if (strncmp(name, known.library, strlen(known.library)) != 0) continue;
    *static_cast<const char**>(wrapper) = known.wrapper;
    return 1;
  }
  return 0;
}

/// The wrapper for the MPI that the program is linked with; without one, for the MPI that started it, which
/// it may load later. Null for none.
const char* needed_wrapper() {
  const char* wrapper = nullptr;
  dl_iterate_phdr(look_at, &wrapper);
  if (wrapper == nullptr && any_is_set(measurement::kOpenMpiRankVariables)) wrapper = kOpenMpi;
  if (wrapper == nullptr && any_is_set(measurement::kMpichRankVariables)) wrapper = kMpich;
  return wrapper;
}

/// LD_PRELOAD with `wrapper`, which lies beside this library, directly after this library.
bool extend_preload(PathText& list, const char* wrapper) {
  const char* preload = getenv("LD_PRELOAD");
  Dl_info here{};
  if (preload == nullptr || strstr(preload, kOpenMpi) != nullptr || strstr(preload, kMpich) != nullptr) {
    return false;
  }
  if (dladdr(reinterpret_cast<const void*>(look_at), &here) == 0 || here.dli_fname == nullptr) return false;
  const char* own = strstr(preload, here.dli_fname);
  const char* slash = strrchr(here.dli_fname, '/');
  if (own == nullptr || slash == nullptr) return false;
  PathText path;
  path.add(here.dli_fname, static_cast<std::size_t>(slash + 1 - here.dli_fname)).add(wrapper);
  if (path.cut() || access(path.c_str(), R_OK) != 0) return false;
  const char* rest = own + strlen(here.dli_fname);
  list.add(preload, static_cast<std::size_t>(rest - preload)).add(":").add(path.c_str()).add(rest);
  return !list.cut();
}

/// The program was given to the loader as an argument: its own arguments do not start it.
bool run_by_loader() {
  const char* slash = strrchr(program_path(), '/');
  return slash != nullptr && (strncmp(slash, "/ld-", 4) == 0 || strncmp(slash, "/ld.so", 6) == 0);
}

}  // namespace

void become_wrapped(char** arguments) {
  if (run_by_loader()) return;
  const char* wrapper = needed_wrapper();
  PathText list;
  if (wrapper == nullptr || !extend_preload(list, wrapper)) return;
  PathText before;
  before.add(getenv("LD_PRELOAD"));
  if (before.cut() || setenv("LD_PRELOAD", list.c_str(), 1) != 0) return;
  system_call(SYS_execve, word(program_path()), word(arguments), word(environ));
  setenv("LD_PRELOAD", before.c_str(), 1);
}

}  // namespace culprit::runtime
