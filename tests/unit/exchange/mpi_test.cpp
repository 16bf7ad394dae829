// The exchange suite on the ranks of an MPI job, whose number the argument states. Exit status 0 on every
// rank if everything held.

#include "mpi_communicator.hpp"
#include "suite.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

#include <mpi.h>

namespace {

using namespace culprit::exchange;
using culprit::prof_mpi::MpiCommunicator;

/// A directory that all ranks know.
std::filesystem::path shared_directory(Communicator& comm) {
  Bytes name;
  if (comm.rank() == 0) {
    std::string path = (std::filesystem::temp_directory_path() / "culprit-exchange-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) throw std::system_error(errno, std::generic_category(), path);
    const auto bytes = std::as_bytes(std::span(path));
    name.assign(bytes.begin(), bytes.end());
  }
  comm.broadcast(name, 0);
  return std::string(reinterpret_cast<const char*>(name.data()), name.size());
}

/// The whole suite, with messages and writes cut into pieces of `piece` bytes.
void everything(std::size_t piece, std::size_t large) {
  MpiCommunicator comm(MPI_COMM_WORLD, piece);
  const std::filesystem::path directory = shared_directory(comm);
  suite::run(comm, large, directory);
  comm.barrier();
  if (comm.rank() == 0) std::filesystem::remove_all(directory);
}

/// Rank `failing` gives up; every rank learns why, and the next communicator works.
void failure(int failing) {
  MpiCommunicator comm(MPI_COMM_WORLD);
  std::string cause;
  try {
    suite::fail(comm, failing);
  } catch (const PeerFailed&) {
    cause.clear();
  } catch (const std::domain_error& error) {
    cause = error.what();
  }
  const MpiCommunicator::Failure reported = comm.fail(cause);
  if (!reported.unanimous) throw std::logic_error("wrong: not every rank took part in the end");
  if (reported.cause != "rank " + std::to_string(failing) + " cannot go on") {
    throw std::logic_error("wrong cause: " + reported.cause);
  }
  try {
    comm.barrier();
  } catch (const PeerFailed&) {
    return;
  }
  if (comm.size() > 1) throw std::logic_error("wrong: an operation succeeded after a failure");
}

}  // namespace

int main(int argc, char** argv) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  try {
    if (argc > 1 && size != std::atoi(argv[1]))
      throw std::logic_error("wrong: the job has another number of ranks");
    everything(MpiCommunicator::kPiece, 3000000);
    everything(1000, 100000);  // 1000 divides 100000: full pieces to the end
    for (int failing = 0; failing < size; ++failing) failure(failing);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
