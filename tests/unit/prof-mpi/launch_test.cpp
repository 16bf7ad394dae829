#include "launch.hpp"

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using culprit::prof_mpi::detect_launch;
using culprit::prof_mpi::Launch;

namespace {

/// What is detected where of all launchers' variables only these are set.
Launch with(const std::map<std::string, std::string>& variables) {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK",
                           "PMI_SIZE", "PALS_RANKID", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID",
                           "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "PBS_VNODENUM", "PBS_NODENUM", "PBS_TASKNUM"}) {
    ::unsetenv(name);
  }
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  return detect_launch();
}

}  // namespace

TEST_CASE("each launcher is known by what it sets", "[launch]") {
  CHECK_FALSE(with({}).launched);
  CHECK(with({}).size == 1);

  const Launch open_mpi =
      with({{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_RANK", "2"}});
  CHECK((open_mpi.launched && open_mpi.rank == 2 && open_mpi.size == 4));
  CHECK(open_mpi.implementations == std::vector<std::string>{"openmpi"});

  const Launch mpich = with({{"PMI_RANK", "1"}, {"PMI_SIZE", "3"}});
  CHECK((mpich.launched && mpich.rank == 1 && mpich.size == 3));
  CHECK(mpich.implementations.front() == "mpich");

  const Launch pmix = with({{"PMIX_RANK", "5"}, {"SLURM_STEP_NUM_TASKS", "8"}});
  CHECK((pmix.launched && pmix.rank == 5 && pmix.size == 8));
  CHECK(pmix.implementations.front() == "openmpi");

  const Launch pals = with({{"PALS_RANKID", "2"}, {"PMI_SIZE", "4"}});
  CHECK((pals.launched && pals.rank == 2 && pals.size == 4));
  CHECK(pals.implementations.front() == "mpich");
  CHECK(with({{"PALS_RANKID", "0"}}).launched);
}

TEST_CASE("copies that a batch system starts without MPI are noticed, its script is not", "[launch]") {
  const Launch copies = with({{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "4"}});
  CHECK((copies.launched && copies.rank == 1 && copies.size == 4));
  CHECK(copies.implementations.front() == "mpich");
  CHECK_FALSE(with({{"SLURM_PROCID", "0"}}).launched);
  CHECK_FALSE(with({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}).launched);

  const Launch by_flux = with({{"FLUX_TASK_RANK", "3"}, {"FLUX_JOB_SIZE", "4"}});
  CHECK((by_flux.launched && by_flux.rank == 3 && by_flux.size == 4));
  CHECK_FALSE(with({{"FLUX_TASK_RANK", "0"}, {"FLUX_JOB_SIZE", "1"}}).launched);

  CHECK(with({{"PBS_VNODENUM", "0"}, {"PBS_TASKNUM", "2"}}).copies);
  CHECK(with({{"PBS_VNODENUM", "1"}, {"PBS_TASKNUM", "1"}}).launched);
  CHECK_FALSE(with({{"PBS_VNODENUM", "0"}, {"PBS_TASKNUM", "1"}}).launched);
}

TEST_CASE("a variable that holds no number counts as unset", "[launch]") {
  CHECK_FALSE(with({{"PMI_RANK", "x"}}).launched);
  CHECK_FALSE(with({{"OMPI_COMM_WORLD_RANK", ""}}).launched);
  CHECK(with({{"PMI_RANK", "0"}, {"PMI_SIZE", "3 "}}).size == 1);
}
