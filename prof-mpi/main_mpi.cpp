// prof-mpi on the ranks of one MPI implementation. Started by bin/prof-mpi, which chooses the implementation.

#include "closing.hpp"
#include "command_line.hpp"
#include "files/at_death.hpp"
#include "launch.hpp"
#include "merge/merge.hpp"
#include "mpi_communicator.hpp"
#include "progress_line.hpp"

#include <string>
#include <variant>

#include <fmt/core.h>
#include <mpi.h>

namespace culprit::prof_mpi {
namespace {

/// Merges; the exit status is the same on every rank. Whatever fails on whatever rank, all end, and one line
/// is printed.
int merge_on_all_ranks(const CommandLine& line) {
  MpiCommunicator comm(MPI_COMM_WORLD);
  std::string cause;
  try {
    const bool first = comm.rank() == 0;
    ProgressLine progress(first && !line.quiet, line.verbose);
    const merge::Outcome outcome =
        merge::merge(comm, line.options, [&](const char* phase, std::uint64_t done, std::uint64_t total) {
          progress.update(phase, done, total);
        });
    comm.barrier();  // success is reported when no rank can fail any more
    progress.finish();
    if (first) print_outcome(outcome, line, {.count = comm.size(), .are = "rank"});
    return static_cast<int>(comm.all_max(static_cast<std::uint64_t>(status_of(outcome))));
  } catch (const exchange::PeerFailed&) {
    cause.clear();  // the rank that failed says why
  } catch (...) {
    cause = cause_of(std::current_exception(), line);
  }
  const MpiCommunicator::Failure failure = comm.fail(cause);
  if (comm.rank() == 0) {
    print_failure(failure.cause.empty() ? "merge: a rank failed without saying why (please report it)"
                                        : failure.cause);
  } else if (!failure.unanimous && !cause.empty()) {
    print_failure(cause);
  }
  if (!failure.unanimous) MPI_Abort(MPI_COMM_WORLD, kFailure);
  return kFailure;
}

/// True, with a message from the first of them, if the launcher started several copies that MPI does not
/// connect.
bool strangers(const Launch& launch) {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > 1 || (launch.size <= 1 && !launch.copies)) return false;
  if (launch.rank == 0) {
    print_failure(fmt::format(
        "start: launcher: it started {}copies that " CULPRIT_MPI_NAME
        " does not connect (use the launcher of " CULPRIT_MPI_NAME
        ", or srun with --mpi=pmix or --mpi=pmi2, and run bin/prof-mpi, which chooses by the launcher)",
        launch.copies ? "" : std::to_string(launch.size) + ' '));
  }
  return true;
}

}  // namespace
}  // namespace culprit::prof_mpi

int main(int argc, char** argv) {
  using namespace culprit::prof_mpi;
  const Launch launch = detect_launch();
  const std::variant<CommandLine, int> parsed = parse_command_line(argc, argv, launch.rank == 0);
  if (const int* status = std::get_if<int>(&parsed)) return *status;
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  culprit::files::put_right_at_death("prof-mpi");
  const int status = strangers(launch) ? kFailure : merge_on_all_ranks(std::get<CommandLine>(parsed));
  MPI_Finalize();
  return status;
}
