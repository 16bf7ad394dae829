#pragma once

#include <array>

// Variables by which launchers tell a process its rank, and how many there are; the first that is set counts.
namespace culprit::measurement {

/// Open MPI; PMIx; PMI: MPICH, Slurm, Flux; PALS, where PBS runs jobs.
inline constexpr std::array<const char*, 4> kRankVariables = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                                              "PALS_RANKID"};
inline constexpr std::array<const char*, 4> kRanksVariables = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                                               "SLURM_NTASKS", "FLUX_JOB_SIZE"};

}  // namespace culprit::measurement
