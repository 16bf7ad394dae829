#pragma once

#include <cstdint>

#include <mpi.h>

// Which communicators, windows and files this process has, published for who looks at it from outside
// (measurement/published_calls_layout.hpp): by handle, with a number that is the same in all of its processes
// and needs no communication (as contexts.hpp forms it). No members: each process publishes its own rank, and
// who reads all of them knows the members. To be called where these are made and freed; any thread, not from
// handlers.
namespace culprit::mpi {

/// At the end of MPI_Init: MPI_COMM_WORLD and MPI_COMM_SELF.
void publish_world();

/// By all members of `parent`, in the same order; `created` may be MPI_COMM_NULL.
void publish_communicator(MPI_Comm parent, MPI_Comm created);
/// A duplicate that need not be usable yet.
void publish_duplicate(MPI_Comm parent, MPI_Comm created);
/// By the members of the new one alone.
void publish_communicator_of_members(MPI_Comm parent, int tag, MPI_Comm created);
/// By all members of `comm`.
void publish_window(MPI_Comm comm, MPI_Win window);
void publish_file(MPI_Comm comm, MPI_File file);

/// Before it is freed.
void withdraw_communicator(MPI_Comm comm);
/// A window or file that was freed, by what its handle was (handle_table.hpp's key_of).
void withdraw_handle(std::uint64_t handle);

}  // namespace culprit::mpi
