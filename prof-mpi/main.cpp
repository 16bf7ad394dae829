// The command prof-mpi: under an MPI launcher it becomes the executable for that MPI; without one it merges
// here, on threads.

#include "closing.hpp"
#include "command_line.hpp"
#include "exchange/threads.hpp"
#include "files/at_death.hpp"
#include "files/own_program.hpp"
#include "launch.hpp"
#include "merge/merge.hpp"
#include "progress_line.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <variant>

#include <fmt/core.h>
#include <unistd.h>

namespace culprit::prof_mpi {
namespace {

int merge_on_threads(const CommandLine& line) {
  const int processors = static_cast<int>(std::thread::hardware_concurrency());
  const int ranks = line.threads > 0 ? line.threads : std::max(processors, 1);
  try {
    merge::Outcome outcome;
    ProgressLine progress(!line.quiet, line.verbose);
    exchange::run_on_threads(ranks, [&](exchange::Communicator& comm) {
      merge::Progress on_progress;
      if (comm.rank() == 0) {
        on_progress = [&](const char* phase, std::uint64_t done, std::uint64_t total) {
          progress.update(phase, done, total);
        };
      } else {
        on_progress = [](const char*, std::uint64_t, std::uint64_t) {};
      }
      merge::Outcome own = merge::merge(comm, line.options, on_progress);
      if (comm.rank() == 0) outcome = std::move(own);
    });
    progress.finish();
    print_outcome(outcome, line, {.count = ranks, .are = "thread"});
    return status_of(outcome);
  } catch (...) {
    print_failure(cause_of(std::current_exception(), line));
    return kFailure;
  }
}

/// Replaces this process by the executable for the launcher's MPI. Returns only where there is none.
int become_mpi(const Launch& launch, char** argv) {
  const std::filesystem::path self = files::own_program();
  if (self.empty()) {
    if (launch.rank == 0)
      print_failure(
          "start: /proc: is not mounted, and prof-mpi cannot find its executables without it (mount it, or "
          "start "
          "prof-mpi by its whole path)");
    return kFailure;
  }
  const std::filesystem::path directory = self.parent_path().parent_path() / "lib" / "culprit";
  std::string why = "no such file";
  std::filesystem::path tried;
  for (const std::string& implementation : launch.implementations) {
    const std::filesystem::path executable = directory / ("prof-mpi-" + implementation);
    if (tried.empty()) tried = executable;
    ::execv(executable.c_str(), argv);
    if (errno != ENOENT) {
      tried = executable;
      why = std::strerror(errno);
      break;
    }
  }
  if (launch.rank == 0) {
    print_failure(
        fmt::format("start: {}: {} (this installation has no prof-mpi for that MPI; start it without a "
                    "launcher, install the package culprit-{}, or build with that MPI's development package "
                    "installed)",
                    tried.string(), why, launch.implementations.front()));
  }
  return kFailure;
}

}  // namespace
}  // namespace culprit::prof_mpi

int main(int argc, char** argv) {
  using namespace culprit::prof_mpi;
  const Launch launch = detect_launch();
  const std::variant<CommandLine, int> parsed = parse_command_line(argc, argv, launch.rank == 0);
  if (const int* status = std::get_if<int>(&parsed)) return *status;
  culprit::files::put_right_at_death("prof-mpi");
  return launch.launched ? become_mpi(launch, argv) : merge_on_threads(std::get<CommandLine>(parsed));
}
