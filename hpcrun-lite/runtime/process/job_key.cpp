// Derives a key of the MPI run from what its launcher left to all ranks alike, and to no other run: Open
// MPI's random key and job, PMIx's name space, Slurm's job and step, the id that PALS, Flux or PBS gave; or
// the port of Hydra's mpiexec, with the start of its proxy where all ranks are on one host. The key is two
// sums of FNV-1a's form over these texts.
#include "runtime/process/job_key.hpp"

#include "measurement/launch_variables.hpp"

#include <array>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace culprit::runtime {
namespace {

constexpr int kMaxAncestors = 32;

/// Two independent 64-bit FNV-1a sums; equality of keys decides whether two processes belong to one run.
class Fingerprint {
 public:
  void add(const char* text) {
    for (; *text != '\0'; ++text) add_byte(static_cast<unsigned char>(*text));
    add_byte(0xff);
  }
  void write(Text<64>& id) const { id.hex(first_, 16).hex(second_, 16); }

 private:
  void add_byte(unsigned char byte) {
    first_ = (first_ ^ byte) * 0x100000001b3U;
    second_ = (second_ ^ byte) * 0x100000001b3U;
    second_ ^= second_ >> 29;
  }
  std::uint64_t first_ = 0xcbf29ce484222325U;
  std::uint64_t second_ = 0x9e3779b97f4a7c15U;
};

/// Reads up to `size` - 1 bytes of a small file; returns how many, and ends them with a zero byte.
std::size_t read_file(const char* path, char* buffer, std::size_t size) {
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  std::size_t length = 0;
  while (descriptor >= 0 && length < size - 1) {
    const ssize_t part = read(descriptor, buffer + length, size - 1 - length);
    if (part <= 0) break;
    length += static_cast<std::size_t>(part);
  }
  if (descriptor >= 0) close(descriptor);
  buffer[length] = '\0';
  return length;
}

struct Ancestor {
  char name[32];
  char start[32];  ///< clock ticks since boot
  long parent;
};

/// /proc/PID/stat: "pid (name) state ppid ... starttime(22) ...".
bool read_ancestor(long pid, Ancestor& ancestor) {
  Text<64> path;
  path.add("/proc/").number(static_cast<std::uint64_t>(pid)).add("/stat");
  char stat[1024];
  read_file(path.c_str(), stat, sizeof stat);
  const char* open_name = strchr(stat, '(');
  char* end_name = strrchr(stat, ')');
  if (open_name == nullptr || end_name == nullptr) return false;
  *end_name = '\0';
  strncpy(ancestor.name, open_name + 1, sizeof ancestor.name - 1);
  ancestor.name[sizeof ancestor.name - 1] = '\0';
  char* rest = nullptr;
  int field = 3;
  ancestor.start[0] = '\0';
  for (char* word = strtok_r(end_name + 1, " ", &rest); word != nullptr;
       word = strtok_r(nullptr, " ", &rest)) {
    if (field == 4) ancestor.parent = strtol(word, nullptr, 10);
    if (field == 22) strncpy(ancestor.start, word, sizeof ancestor.start - 1);
    ++field;
  }
  ancestor.start[sizeof ancestor.start - 1] = '\0';
  return field > 22;
}

/// The value after the argument `name` in a process's command line; null if there is none.
const char* argument_after(const char* name, const char* arguments, std::size_t length) {
  for (const char* at = arguments; at < arguments + length; at += strlen(at) + 1) {
    if (strcmp(at, name) == 0 && at + strlen(at) + 1 < arguments + length) return at + strlen(at) + 1;
  }
  return nullptr;
}

/// Hydra's proxy gets the address of its mpiexec, which is one for all hosts. On a single host the proxy's
/// start distinguishes runs that were given the same port.
bool add_hydra(Fingerprint& print) {
  long pid = getppid();
  for (int i = 0; i < kMaxAncestors && pid > 1; ++i) {
    Ancestor ancestor{};
    if (!read_ancestor(pid, ancestor)) return false;
    if (strncmp(ancestor.name, "hydra_pmi_proxy", 15) == 0 ||
        strncmp(ancestor.name, "hydra_bstrap", 12) == 0) {
      Text<64> path;
      path.add("/proc/").number(static_cast<std::uint64_t>(pid)).add("/cmdline");
      char arguments[4096];
      const std::size_t length = read_file(path.c_str(), arguments, sizeof arguments);
      const char* control = argument_after("--control-port", arguments, length);
      if (control != nullptr) print.add(control);
      const char* local = getenv("MPI_LOCALNRANKS");
      const char* all = getenv("PMI_SIZE");
      const bool one_host = local != nullptr && all != nullptr && strcmp(local, all) == 0;
      if (control == nullptr || one_host) print.add(ancestor.start);
      return true;
    }
    pid = ancestor.parent;
  }
  return false;
}

bool add_variable(Fingerprint& print, const char* name) {
  const char* value = getenv(name);
  if (value == nullptr || value[0] == '\0') return false;
  print.add(name);
  print.add(value);
  return true;
}

template <std::size_t Size>
long number(const std::array<const char*, Size>& names) {
  for (const char* name : names) {
    const char* value = getenv(name);
    if (value != nullptr && value[0] >= '0' && value[0] <= '9') return strtol(value, nullptr, 10);
  }
  return -1;
}

/// Tasks that were started without an interface for MPI. Returns the variable with the id of their run; null
/// where that is Slurm's step.
const char* find_task(JobKey& key) {
  for (const measurement::TaskVariables& task : measurement::kTaskVariables) {
    key.ranks = number(std::array{task.ranks});
    key.rank = key.ranks < 2 ? -1 : number(std::array{task.rank});
    if (key.rank >= 0) return task.run;
  }
  key.ranks = -1;  // pbsdsh does not say how many there are
  const long node = number(measurement::kPbsNodeVariables);
  if (measurement::is_task_of_pbsdsh(node, number(std::array{measurement::kPbsTaskVariable})))
    key.rank = node;
  return "PBS_JOBID";
}

}  // namespace

bool find_job_key(JobKey& key) {
  key = JobKey{};
  key.rank = number(measurement::kRankVariables);
  key.ranks = number(measurement::kRanksVariables);
  const char* const job = key.rank < 0 ? find_task(key) : nullptr;
  if (key.rank < 0) return false;
  Fingerprint print;
  // Open MPI draws a random key for each mpirun, and numbers each of its jobs.
  const bool drawn = add_variable(print, "OMPI_MCA_orte_precondition_transports");
  bool known = add_variable(print, "PMIX_NAMESPACE") || drawn;
  known = (job != nullptr && add_variable(print, job)) || known;
  // Within an allocation mpirun starts ranks of other hosts in a step of Slurm's, or by ssh without Slurm's
  // variables, and those of its own host in none.
  const bool by_mpirun = getenv("OMPI_COMM_WORLD_RANK") != nullptr;
  if (!(by_mpirun && drawn) && add_variable(print, "SLURM_JOB_ID")) {
    known = (!by_mpirun && add_variable(print, "SLURM_STEP_ID")) || known;
    add_variable(print, "SLURM_RESTART_COUNT");
  }
  if (!known) known = add_hydra(print);
  // Last: within a job of theirs, another launcher hands these on, to the ranks of this host alone.
  if (!known) known = add_variable(print, "PALS_APID") || add_variable(print, "FLUX_JOB_ID");
  if (!known) return false;
  print.write(key.id);
  return true;
}

}  // namespace culprit::runtime
