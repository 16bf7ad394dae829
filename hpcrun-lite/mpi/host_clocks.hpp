#pragma once

#include <cstdint>

namespace culprit::mpi {

/// Compares the clocks of the hosts that the run is on, in MPI_Init and in MPI_Finalize, and records in each
/// process's trace how its host's is ahead of that of MPI_COMM_WORLD's rank 0 (algorithm: one process per
/// host; along a binomial tree each asks its parent the time, again and again; the fastest answer counts).
/// Collective over MPI_COMM_WORLD: all ranks are measured, and all trace. On a single host it
/// costs one small reduction, in MPI_Init alone.
///
/// For tests, CULPRIT_WRONG_CLOCKS=HOSTS,NS,PPB divides the ranks among as many hosts as if they were real,
/// the n-th of which has a clock that is n * NS ahead and gains n * PPB ns per second; the times of calls are
/// then that clock's, those of samples are not.
/// Also this_host() is then the made-up one.
void compare_clocks_at_start();
void compare_clocks_at_end();

/// The same number in all processes that share CLOCK_MONOTONIC, after MPI_Init.
std::uint64_t this_host();

}  // namespace culprit::mpi
