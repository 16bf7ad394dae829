#include "runtime/identity.hpp"

#include "runtime/clock.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace culprit::runtime {
namespace {

PathText directory;
PathText program;
PathText start;
Text<40> id;
Text<256> host_name;
Text<1024> wanted_ranks;

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

int write_marker(const char* path) {
  const int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) return errno;
  Text<128> text;
  text.add("{\"format\": \"culprit-run\", \"version\": 1, \"run_id\": \"").add(id.c_str()).add("\"}\n");
  const bool written = write(descriptor, text.c_str(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = written ? 0 : errno;
  close(descriptor);
  return error;
}

/// Claims the directory for one MPI run; false if another one has it.
bool claim_world() {
  PathText path;
  path.add(directory.c_str()).add("/culprit.world");
  if (make_directories(path.c_str()) != 0) return true;  // the file's creation will say what is wrong
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor >= 0) close(descriptor);
  return descriptor >= 0 || errno != EEXIST;
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

}  // namespace

bool prepare_identity() {
  const char* output = getenv("CULPRIT_OUTPUT");
  const char* given = getenv("CULPRIT_RUN_ID");
  if (output == nullptr || given == nullptr || output[0] == '\0' || given[0] == '\0') return false;
  read_program();
  if (output[0] != '/') directory.add(start.c_str()).add("/");
  directory.add(output);
  id.add(given);
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

void settle_world(CulpritWorld& world) {
  Text<40> run;
  Text<40> suffix;
  if (claim_world()) {
    run.add(id.c_str());
  } else {
    run.hex(now() ^ (static_cast<std::uint64_t>(process.pid) << 40), 16).hex(read_clock(CLOCK_REALTIME), 16);
    suffix.add("-").add(run.c_str(), 12);
  }
  memcpy(world.run_id, run.c_str(), run.size() + 1);
  memcpy(world.suffix, suffix.c_str(), suffix.size() + 1);
}

void adopt_world(const CulpritWorld& world) {
  id.clear();
  id.add(world.run_id, strnlen(world.run_id, sizeof world.run_id));
  if (world.suffix[0] == '\0') return;
  directory.add(world.suffix, strnlen(world.suffix, sizeof world.suffix));
  PathText marker;
  marker.add(directory.c_str()).add("/culprit.run");
  if (make_directories(marker.c_str()) == 0) write_marker(marker.c_str());  // whoever comes first
  claim_world();
}

bool rank_wanted(int rank) {
  if (wanted_ranks.size() == 0) return true;
  const char* at = wanted_ranks.c_str();
  long first = 0;
  long last = 0;
  while (next_range(at, first, last)) {
    if (rank >= first && rank <= last) return true;
  }
  return false;
}

}  // namespace culprit::runtime
