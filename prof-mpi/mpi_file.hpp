#pragma once

#include "exchange/communicator.hpp"

#include <cstddef>
#include <filesystem>
#include <memory>

namespace culprit::prof_mpi {

/// Collective: a file that every rank writes through MPI-IO, in pieces of at most `piece` bytes. Each rank
/// opens it for itself (MPI_COMM_SELF): writes are independent, and the end of a failed run needs nobody.
/// `comm` must outlive it.
std::unique_ptr<exchange::OutputFile> create_mpi_file(exchange::Communicator& comm,
                                                      const std::filesystem::path& path, std::size_t piece);

}  // namespace culprit::prof_mpi
