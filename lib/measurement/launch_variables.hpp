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

/// What launchers set for tasks that they start without an interface for MPI (flux run -o pmi=off, srun
/// --mpi=none). A batch script and a shell have these variables, too, but are alone: several tasks are meant
/// where `ranks` is 2 or more.
struct TaskVariables {
  const char* rank;
  const char* ranks;
  const char* run;  ///< the id of their run; null where that is Slurm's step
};
/// Flux comes first: where Slurm started it, all its tasks have the variables of that step.
inline constexpr std::array<TaskVariables, 2> kTaskVariables = {
    {{"FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_JOB_ID"}, {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", nullptr}}};

inline constexpr std::array<const char*, 2> kPbsNodeVariables = {"PBS_VNODENUM", "PBS_NODENUM"};
inline constexpr const char* kPbsTaskVariable = "PBS_TASKNUM";
/// Whether pbsdsh started the task that has these numbers of PBS (negative: not set). A job's script is the
/// first task of the first node.
constexpr bool is_task_of_pbsdsh(long node, long task) {
  return node > 0 || task > 1;
}

}  // namespace culprit::measurement
