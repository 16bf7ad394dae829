#pragma once

#include <cstdint>

#include <mpi.h>

// What the wrappers do for the run as a whole, with the MPI library's own functions behind ours.
namespace culprit::mpi {

/// For what all ranks do together: every rank is measured.
bool everyone_measured();
/// The same, and of no rank is the measurement thrown away.
bool everyone_recorded();
/// The same as everyone_measured(), and every rank was to be traced (whatever became of its trace). The parts
/// of a job may be measured with different options, so this, too, is agreed on in join_world().
bool everyone_traced();
/// This process's, in MPI_COMM_WORLD.
int own_rank();
/// Collective over `comm`: every process gets its first one's numbers.
void broadcast(MPI_Comm comm, std::uint64_t* numbers, int count);
/// Whether all processes of `comm` are of this world, and no remote ones: of others nobody knows whether they
/// are measured. False as well where it is no communicator. All members find the same.
bool within_world(MPI_Comm comm);

/// After a successful MPI_Init: rank and size go to the runtime; where all ranks are measured, all agree on
/// the run id.
void join_world();

#if MPI_VERSION >= 4
/// After a successful MPI_Session_init: rank and size of mpi://WORLD go to the runtime. There may be no
/// MPI_COMM_WORLD, so that the ranks do nothing together.
void join_by_session(MPI_Session session);
#endif

/// Before the real MPI_Finalize: sums the ranks' totals (which also waits for the last rank), rank 0 prints
/// the summary line. Local where not all ranks are measured.
void leave_world();

}  // namespace culprit::mpi
