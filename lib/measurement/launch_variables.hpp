#pragma once

#include <array>

// Variables by which launchers give a process its rank, and how many there are; the first that is set counts.
namespace culprit::measurement {

/// Open MPI, by itself or by PMIx (of the two MPIs only it speaks PMIx as it is commonly built); PMI: MPICH,
/// Slurm, Flux; PALS, where PBS runs jobs.
inline constexpr std::array<const char*, 2> kOpenMpiRankVariables = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK"};
inline constexpr std::array<const char*, 2> kMpichRankVariables = {"PMI_RANK", "PALS_RANKID"};
inline constexpr std::array<const char*, 4> kRankVariables = {
    kOpenMpiRankVariables[0], kOpenMpiRankVariables[1], kMpichRankVariables[0], kMpichRankVariables[1]};
inline constexpr std::array<const char*, 4> kRanksVariables = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                                               "SLURM_NTASKS", "FLUX_JOB_SIZE"};

}  // namespace culprit::measurement
