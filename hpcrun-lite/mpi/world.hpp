#pragma once

#include "mpi/prototypes.hpp"

#include <cstdint>

// What the wrappers do for the run as a whole, with the MPI library's own functions behind ours.
namespace culprit::mpi {

/// For what all ranks do together: every rank is measured.
bool everyone_measured();
/// The same, and of no rank is the measurement thrown away.
bool everyone_recorded();
/// Collective over `comm`: every process gets its first one's number.
void broadcast(MPI_Comm comm, std::uint64_t& number);

/// After a successful MPI_Init: rank and size go to the runtime; where all ranks are measured, all agree on
/// the run id.
void join_world();

/// Before the real MPI_Finalize: sums the ranks' totals (which also waits for the last rank), rank 0 prints
/// the closing line. Local where not all ranks are measured.
void leave_world();

}  // namespace culprit::mpi
