#pragma once

#include <cstdint>

#include <mpi.h>

// Who the members of a group are: their ranks in MPI_COMM_WORLD. Those of other worlds (spawned, connected)
// have none.
namespace culprit::mpi {

/// Of MPI_COMM_WORLD; made once, never freed.
MPI_Group world_group();

/// A rank of `from` in another group; negative where it is no member.
int translate(MPI_Group from, int rank, MPI_Group to);

/// The first `size` members of a group, in their order. Quick where they are strided runs of ranks.
void world_ranks(MPI_Group group, int size, int* ranks);

/// Mixes a number into a hash; the order of the numbers counts.
std::uint64_t mixed(std::uint64_t hash, std::uint64_t number);

/// A number that only these ranks in this order have.
std::uint64_t hash_of(const int* ranks, int size);

}  // namespace culprit::mpi
