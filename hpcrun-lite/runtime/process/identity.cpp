#include "runtime/process/identity.hpp"

#include "runtime/process/job_key.hpp"
#include "runtime/process/run_directory.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/clock.hpp"
#include "runtime/system/system_calls.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace culprit::runtime {
namespace {

constinit PathText directory{InStaticMemory{}};
constinit PathText program{InStaticMemory{}};
constinit PathText start{InStaticMemory{}};
constinit Text<kCulpritRunId> id{InStaticMemory{}};
bool inner_run = false;
constexpr std::size_t kBlock = 4096;  // reading past what is cached needs whole, aligned ones
constexpr std::uint64_t kRegisterPatience = 10 * kSecond;  // with a server that fails
constexpr std::uint64_t kRegisterPause = kSecond / 10;
constinit Text<256> host_name{InStaticMemory{}};
constinit Text<1024> wanted_ranks{InStaticMemory{}};

/// The machine's name, with nothing in it that a file name could not hold.
void read_host() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  for (char* c = name; *c != '\0'; ++c) {
    if (*c == '/' || *c < ' ') *c = '_';
  }
  host_name.add(name[0] == '\0' ? "localhost" : name);
}

void read_program() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length > 0) program.add(path, static_cast<std::size_t>(length));
  if (getcwd(path, sizeof path) != nullptr) start.add(path);
}

/// The process is a rank of another MPI run than the one that the launcher was started in, as when a measured
/// script calls mpirun: two runs never share a directory.
void separate_inner_run() {
  JobKey key;
  if (!find_job_key(key)) return;
  if (strcmp(key.id.c_str(), id.c_str()) == 0) return;
  directory.add("-").add(key.id.c_str(), 12);
  id = key.id;
  inner_run = true;
}

/// Reads "3" or "3-7" at `*at`; false at the end or on anything else.
bool next_range(const char*& at, long& first, long& last) {
  char* end = nullptr;
  first = strtol(at, &end, 10);
  if (end == at) return false;
  last = first;
  if (*end == '-') {
    at = end + 1;
    last = strtol(at, &end, 10);
  }
  at = *end == ',' ? end + 1 : end;
  return true;
}

/// How many ranks registered, or a negative errno. With O_DIRECT as the server has it: what this host keeps
/// of the file may be older, ranks that see different numbers would wait for each other for ever.
int count_registered(const char* path, int flags) {
  alignas(kBlock) char block[kBlock];
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC | flags);
  if (descriptor < 0) return -errno;
  int found = 0;
  ssize_t length = 0;
  do {
    length = read(descriptor, block, sizeof block);
    for (ssize_t i = 0; i < length; ++i) found += block[i] == kRegistered ? 1 : 0;
  } while (length == static_cast<ssize_t>(sizeof block) || (length < 0 && errno == EINTR));
  if (length < 0) found = -errno;
  close(descriptor);
  return found;
}

}  // namespace

bool prepare_identity() {
  const char* output = getenv("CULPRIT_OUTPUT");
  const char* given = getenv("CULPRIT_RUN_ID");
  if (output == nullptr || given == nullptr || output[0] == '\0' || given[0] == '\0') return false;
  read_program();
  if (output[0] != '/') directory.add(start.c_str()).add("/");
  directory.add(output);
  id.add(given);
  separate_inner_run();
  const char* ranks = getenv("CULPRIT_RANKS");
  if (ranks != nullptr) wanted_ranks.add(ranks);
  read_host();
  return !directory.cut();
}

const char* output_directory() {
  return directory.c_str();
}
const char* run_id() {
  return id.c_str();
}
const char* host() {
  return host_name.c_str();
}
const char* program_path() {
  return program.c_str();
}
const char* start_directory() {
  return start.c_str();
}

bool measurement_path(PathText& path, int rank) {
  path.clear();
  path.add(directory.c_str()).add("/").hex(static_cast<std::uint64_t>(process.pid) & 0xff, 2).add("/");
  if (rank >= 0) path.add("rank-").number(static_cast<std::uint64_t>(rank), 6).add("-");
  path.add(host_name.c_str()).add("-").number(static_cast<std::uint64_t>(process.pid)).add("-");
  path.number(process.start_ns / 1000).add(".culprit");
  return !path.cut();
}

int make_directories(const char* path) {
  PathText parent;
  for (std::size_t i = 1; path[i] != '\0'; ++i) {
    if (path[i] != '/' || i < directory.size()) continue;
    parent.clear();
    parent.add(path, i);
    const long error = -system_call(SYS_mkdirat, AT_FDCWD, word(parent.c_str()), 0777);
    if (error != 0 && error != EEXIST) return static_cast<int>(error);
  }
  return 0;
}

int make_run_directory() {
  if (!inner_run) return 0;
  PathText path;
  path.add(directory.c_str()).add("/culprit.run");
  int error = make_directories(path.c_str());
  if (error == 0) error = write_marker(path.c_str(), id.c_str());
  return error == EEXIST ? 0 : error;  // whichever rank comes first
}

void set_run_id(const char* new_id) {
  id.clear();
  id.add(new_id);
}

bool all_ranks_registered(int ranks) {
  PathText path;
  path.add(directory.c_str()).add("/").add(kRegister);
  int found = -EIO;
  for (std::uint64_t waited = 0; waited < kRegisterPatience; waited += kRegisterPause) {
    found = count_registered(path.c_str(), O_DIRECT);
    if (found == -EINVAL) found = count_registered(path.c_str(), 0);  // the file system has no such reading
    if (found >= 0 || found == -ENOENT) return found == ranks;
    const timespec pause = to_timespec(kRegisterPause);
    system_call(SYS_nanosleep, word(&pause), 0);
  }
  Text<4400> line;
  line.add("hpcrun-lite: read: ").add(path.c_str()).add(": ").add(strerrordesc_np(-found));
  line.add(
      " (whether all ranks are measured stays unknown to this one: if MPI_Init hangs, choose another "
      "directory with -o)");
  say(line);
  return false;
}

bool every_rank_wanted() {
  return wanted_ranks.size() == 0;
}

bool rank_wanted(int rank) {
  if (every_rank_wanted()) return true;
  const char* at = wanted_ranks.c_str();
  long first = 0;
  long last = 0;
  while (next_range(at, first, last)) {
    if (rank >= first && rank <= last) return true;
  }
  return false;
}

bool any_rank_wanted(int ranks) {
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank_wanted(rank)) return true;
  }
  return false;
}

}  // namespace culprit::runtime
