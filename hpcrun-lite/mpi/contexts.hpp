#pragma once

#include "measurement/trace_operation.hpp"
#include "mpi/topology.hpp"

#include <cstdint>

#include <mpi.h>

// The communicators, windows, groups and files that live, by their handles, and how traces name them. Handles
// are reused, so whoever frees one forgets it here first. What was made unseen is defined where it is first
// used, and named by its members.
//
// A communicator's global id is found without communication. Its parent's members all call what makes it, in
// the same order: the parent's id, the count of what was made from it, and the world's rank of the first
// member are the same for all of the new one's members, and for no other. Where only the new one's members
// come together, they are the parent's place, with the call's tag. Functions are for any number of threads,
// not for signal handlers.
namespace culprit::mpi {

using measurement::trace::Context;
using measurement::trace::kNoContext;

struct Communicator {
  Context context;
  std::uint32_t made;       ///< communicators and windows so far
  std::uint64_t global_id;  ///< 0: unknown
  int size;
  int remote_size;  ///< 0: not an intercommunicator
  int rank;
  int sources, destinations;  ///< of the topology
  Nobody nobody;              ///< at which of these there is nobody
};
inline constexpr Communicator kUnknownCommunicator{.context = kNoContext,
                                                   .made = 0,
                                                   .global_id = 0,
                                                   .size = 0,
                                                   .remote_size = 0,
                                                   .rank = 0,
                                                   .sources = 0,
                                                   .destinations = 0,
                                                   .nobody = 0};

/// After MPI_Init: defines MPI_COMM_WORLD and MPI_COMM_SELF.
void define_world();

Communicator communicator_of(MPI_Comm comm);
/// Counts what the members of `parent` make together; to be called once by each of them, in the same order.
/// 0: not known.
std::uint64_t next_made(MPI_Comm parent);
/// `created` may be MPI_COMM_NULL. `number` is next_made's.
Context define_communicator(MPI_Comm parent, std::uint64_t number, MPI_Comm created);
/// The same, of one with its parent's members.
Context define_duplicate(Context parent, std::uint64_t number, MPI_Comm created);
/// Of those that the new communicator's members alone make.
Context define_communicator_of_members(MPI_Comm parent, int tag, MPI_Comm created);
void forget_communicator(MPI_Comm comm);

/// `global_id` 0: is to be found.
Context define_window(MPI_Comm comm, MPI_Win window, std::uint64_t global_id);
Context window_of(MPI_Win window);
/// Its number in all processes, where this one is its first member; else 0.
std::uint64_t number_of_first_in(MPI_Win window);
void forget_window(MPI_Win window);

Context group_of(MPI_Group group);
void forget_group(MPI_Group group);

struct File {
  Context communicator;
  std::uint64_t split;  ///< the operation of a collective transfer in two calls that has begun
};
void add_file(MPI_Comm comm, MPI_File file);
File file_of(MPI_File file);
/// Replaces the split operation and returns the one before.
std::uint64_t exchange_split(MPI_File file, std::uint64_t operation);
void forget_file(MPI_File file);

}  // namespace culprit::mpi
