// hpcrun-lite: translates its options into environment variables for the preloaded runtime, and becomes the
// program.
#include "files/at_death.hpp"
#include "files/own_program.hpp"
#include "launcher/options.hpp"
#include "launcher/program.hpp"
#include "launcher/run_claim.hpp"
#include "print/output.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <unistd.h>

namespace culprit::launcher {
namespace {

namespace fs = std::filesystem;

constexpr const char* kJobLaunchers[] = {
    "mpirun",          "mpiexec",      "orterun",       "prterun",       "srun",  "aprun", "mpirun.openmpi",
    "mpiexec.openmpi", "mpirun.mpich", "mpiexec.mpich", "mpiexec.hydra", "jsrun", "flux"};

void refuse_job_launcher(const std::string& program) {
  const std::string name = base_name(program);
  for (const char* launcher : kJobLaunchers) {
    if (name != launcher) continue;
    std::string line = "usage: ";
    line.append(program).append(
        " stands behind hpcrun-lite: it starts the ranks, and they are what to measure (write: ");
    line.append(name).append(" ... hpcrun-lite [options] program)");
    throw Failure(kUsage, line);
  }
}

/// Where the preloaded libraries are: beside this program, in a prefix that may be moved as a whole.
fs::path library_directory() {
  const fs::path self = files::own_program();
  if (self.empty())
    throw Failure(
        kFailure,
        "start: /proc: is not mounted, and hpcrun-lite cannot find its own libraries without it (mount "
        "it, or start hpcrun-lite by its whole path)");
  fs::path directory = (self.parent_path() / ".." / "lib" / "culprit").lexically_normal();
  if (!fs::exists(directory / "libculprit-runtime.so")) {
    throw Failure(kFailure, "start: " + (directory / "libculprit-runtime.so").string() +
                                ": not found (the installation is incomplete: install it again)");
  }
  if (directory.string().find_first_of(" :") != std::string::npos) {
    throw Failure(kFailure,
                  "start: " + directory.string() +
                      ": LD_PRELOAD cannot name a path with blanks or colons (install it elsewhere)");
  }
  return directory;
}

void warn(const std::string& line) {
  print::complain("hpcrun-lite", line);
}

/// The wrapper library for the program's MPI; empty where it needs none or has none.
fs::path wrapper(const Program& program, const fs::path& libraries) {
  std::string library;
  const Mpi mpi = choose_mpi(program, library);
  if (mpi == Mpi::none) return {};
  const char* name = mpi == Mpi::openmpi ? "libculprit-openmpi.so" : "libculprit-mpich.so";
  if (mpi != Mpi::unknown && fs::exists(libraries / name)) return libraries / name;
  warn("mpi: " + program.path + ": " + (library.empty() ? "its MPI" : library) +
       " is none that this installation was built for (ranks and waiting will not be recorded; build "
       "hpcrun-lite with it)");
  return {};
}

/// Ours before the user's own, so that their libraries still see every call that we pass on.
std::string preload_list(const fs::path& libraries, const fs::path& mpi_wrapper) {
  std::string list = (libraries / "libculprit-runtime.so").string();
  if (!mpi_wrapper.empty()) list += ":" + mpi_wrapper.string();
  const char* theirs = std::getenv("LD_PRELOAD");
  if (theirs != nullptr && theirs[0] != '\0') list += std::string(":") + theirs;
  return list;
}

/// AddressSanitizer as a shared library ends programs before which another library is loaded. Only its place
/// is ours: calls that we pass on reach it as ever.
std::string sanitizer_options() {
  const char* theirs = std::getenv("ASAN_OPTIONS");
  const std::string before = theirs == nullptr || theirs[0] == '\0' ? "" : std::string(theirs) + ":";
  return before + "verify_asan_link_order=0";
}

void set(const char* name, const std::string& value) {
  if (value.empty()) {
    unsetenv(name);
  } else {
    setenv(name, value.c_str(), 1);
  }
}

[[noreturn]] void become(const Options& options, const Program& program) {
  std::vector<char*> arguments;
  for (const std::string& word : options.program) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(program.path.c_str(), arguments.data());
  const int error = errno;
  throw Failure(error == ENOENT ? kNotFound : kCannotRun,
                "run: " + program.path + ": " + std::strerror(error) + " (does it run without hpcrun-lite?)");
}

int run(int argc, char** argv) {
  const std::optional<Options> options = read_options(argc, argv);
  if (!options) return 0;
  refuse_job_launcher(options->program[0]);
  const Program program = find_program(options->program[0]);
  const fs::path libraries = library_directory();
  const fs::path mpi_wrapper = wrapper(program, libraries);
  const RunClaim claim = claim_run(options->output, base_name(options->program[0]));
  set("CULPRIT_EVENTS", options->events);
  set("CULPRIT_OUTPUT", claim.directory.string());
  set("CULPRIT_RUN_ID", claim.run_id);
  set("CULPRIT_RANKS", options->ranks);
  set("CULPRIT_DELAY", options->delay ? "1" : "");
  set("CULPRIT_FILES", options->files ? "1" : "");
  set("CULPRIT_TRACE", options->trace ? "1" : "");
  set("CULPRIT_TRACE_LIMIT", options->trace_limit);
  set("CULPRIT_TRACE_THREADS_ABOVE", options->trace_threads_above);
  set("CULPRIT_QUIET", options->quiet ? "1" : "");
  set("CULPRIT_VERBOSE", options->verbose ? "1" : "");
  set("CULPRIT_LAUNCHED", std::to_string(getpid()));
  set("ASAN_OPTIONS", sanitizer_options());
  set("LD_PRELOAD", preload_list(libraries, mpi_wrapper));
  if (options->verbose) {
    warn("measuring " + program.path + " into " + claim.directory.string() + ": " +
         (options->events.empty() ? "REALTIME@f200" : options->events) +
         (options->delay ? ", from culprit_start() on" : "") +
         (options->trace ? ", with time lines of at most " + options->trace_limit + " bytes per process"
                         : "") +
         ", MPI wrappers: " + (mpi_wrapper.empty() ? "none" : mpi_wrapper.filename().string()));
  }
  become(*options, program);
}

}  // namespace
}  // namespace culprit::launcher

int main(int argc, char** argv) {
  try {
    return culprit::launcher::run(argc, argv);
  } catch (const culprit::launcher::Failure& failure) {
    culprit::print::complain("hpcrun-lite", failure.what());
    return failure.status();
  } catch (const std::bad_alloc&) {
    culprit::print::complain("hpcrun-lite", std::string("start: ") + culprit::files::kOutOfMemory);
    return culprit::launcher::kFailure;
  } catch (const std::exception& error) {
    culprit::print::complain("hpcrun-lite", error.what());
    return culprit::launcher::kFailure;
  }
}
