#include "runtime/process/job_key.hpp"

#include <cstdlib>
#include <string>
#include <tuple>

#include <catch2/catch.hpp>

namespace job_key_test {

using culprit::runtime::find_job_key;
using culprit::runtime::JobKey;

namespace {

constexpr const char* kVariables[] = {"OMPI_COMM_WORLD_RANK",
                                      "OMPI_COMM_WORLD_SIZE",
                                      "OMPI_MCA_orte_precondition_transports",
                                      "PMIX_NAMESPACE",
                                      "PMIX_RANK",
                                      "PMI_RANK",
                                      "PMI_SIZE",
                                      "MPI_LOCALNRANKS",
                                      "SLURM_JOB_ID",
                                      "SLURM_STEP_ID",
                                      "SLURM_RESTART_COUNT",
                                      "SLURM_NTASKS",
                                      "SLURM_PROCID",
                                      "SLURM_STEP_NUM_TASKS",
                                      "FLUX_JOB_ID",
                                      "FLUX_JOB_SIZE",
                                      "FLUX_TASK_RANK",
                                      "PBS_JOBID",
                                      "PBS_NODENUM",
                                      "PBS_TASKNUM",
                                      "PBS_VNODENUM",
                                      "PALS_APID",
                                      "PALS_RANKID"};

struct CleanEnvironment {
  CleanEnvironment() {
    for (const char* name : kVariables) unsetenv(name);
  }
  ~CleanEnvironment() {
    for (const char* name : kVariables) unsetenv(name);
  }
};

JobKey job_key() {
  JobKey key;
  REQUIRE(find_job_key(key));
  return key;
}

std::string open_mpi_key(const char* transports, const char* job, const char* rank) {
  setenv("OMPI_MCA_orte_precondition_transports", transports, 1);
  setenv("PMIX_NAMESPACE", job, 1);
  setenv("OMPI_COMM_WORLD_RANK", rank, 1);
  setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
  const JobKey key = job_key();
  CHECK(key.rank == std::atol(rank));
  CHECK(key.ranks == 4);
  return key.id.c_str();
}

}  // namespace

TEST_CASE("outside of an MPI job there is no key") {
  const CleanEnvironment clean;
  JobKey key;
  CHECK_FALSE(find_job_key(key));
  setenv("SLURM_JOB_ID", "17", 1);  // a batch script is no rank
  setenv("SLURM_NTASKS", "8", 1);
  setenv("SLURM_PROCID", "0", 1);
  CHECK_FALSE(find_job_key(key));
  setenv("SLURM_STEP_ID", "0", 1);  // nor is a shell that srun started
  setenv("SLURM_STEP_NUM_TASKS", "1", 1);
  CHECK_FALSE(find_job_key(key));
}

TEST_CASE("tasks that srun started without an interface for MPI are one run") {
  const CleanEnvironment clean;
  setenv("SLURM_JOB_ID", "17", 1);
  setenv("SLURM_STEP_ID", "0", 1);
  setenv("SLURM_STEP_NUM_TASKS", "4", 1);
  setenv("SLURM_PROCID", "1", 1);
  const JobKey first = job_key();
  CHECK(first.rank == 1);
  CHECK(first.ranks == 4);
  setenv("SLURM_PROCID", "3", 1);
  const JobKey second = job_key();
  CHECK(second.rank == 3);
  CHECK(std::string(first.id.c_str()) == second.id.c_str());
}

TEST_CASE("tasks that Flux started without an interface for MPI are one run, also within a step of Slurm's") {
  const CleanEnvironment clean;
  if (GENERATE(false, true)) {
    setenv("SLURM_JOB_ID", "17", 1);
    setenv("SLURM_STEP_ID", "0", 1);
    setenv("SLURM_STEP_NUM_TASKS", "2", 1);
    setenv("SLURM_PROCID", "0", 1);
  }
  const auto key = [](const char* job, const char* rank) {
    setenv("FLUX_JOB_ID", job, 1);
    setenv("FLUX_JOB_SIZE", "4", 1);
    setenv("FLUX_TASK_RANK", rank, 1);
    const JobKey found = job_key();
    CHECK(found.rank == std::atol(rank));
    CHECK(found.ranks == 4);
    return std::string(found.id.c_str());
  };
  const std::string first = key("f2oPQTp7", "0");
  CHECK(first == key("f2oPQTp7", "3"));
  CHECK(first != key("f2oPQTp9", "0"));
}

TEST_CASE("tasks of pbsdsh are one run, a script of PBS is none") {
  const CleanEnvironment clean;
  const auto task = [](const char* job, const char* node, const char* number) {
    setenv("PBS_JOBID", job, 1);
    setenv("PBS_VNODENUM", node, 1);
    setenv("PBS_TASKNUM", number, 1);
  };
  task("17.server", "0", "1");
  JobKey key;
  CHECK_FALSE(find_job_key(key));
  task("17.server", "0", "2");
  const JobKey first = job_key();
  CHECK(first.rank == 0);
  CHECK(first.ranks == -1);
  task("17.server", "1", "1");
  const JobKey second = job_key();
  CHECK(second.rank == 1);
  CHECK(std::string(first.id.c_str()) == second.id.c_str());
  task("18.server", "1", "1");
  CHECK(std::string(first.id.c_str()) != job_key().id.c_str());
}

TEST_CASE("ranks of one job agree, other jobs differ") {
  const CleanEnvironment clean;
  const std::string first = open_mpi_key("b282d6b19e6c7877-17b4cfc4ca08a09c", "1241251841", "0");
  CHECK(first.size() == 32);
  CHECK(first == open_mpi_key("b282d6b19e6c7877-17b4cfc4ca08a09c", "1241251841", "3"));
  CHECK(first != open_mpi_key("b282d6b19e6c7877-17b4cfc4ca08a09c", "1241251842", "0"));
  CHECK(first != open_mpi_key("0000d6b19e6c7877-17b4cfc4ca08a09c", "1241251841", "0"));
}

TEST_CASE("steps of one Slurm job are different runs") {
  const CleanEnvironment clean;
  setenv("SLURM_JOB_ID", "17", 1);
  setenv("PMI_RANK", "2", 1);
  setenv("SLURM_NTASKS", "8", 1);
  setenv("SLURM_STEP_ID", "0", 1);
  const JobKey first = job_key();
  CHECK(first.rank == 2);
  CHECK(first.ranks == 8);
  setenv("SLURM_STEP_ID", "1", 1);
  const JobKey second = job_key();
  CHECK(std::string(first.id.c_str()) != second.id.c_str());
}

TEST_CASE("ranks of mpirun within a job of Slurm are one run, in a step or not") {
  const char* const transports = GENERATE("b282d6b19e6c7877-17b4cfc4ca08a09c", "");  // Open MPI 5 draws none
  const CleanEnvironment clean;
  setenv("SLURM_JOB_ID", "17", 1);
  const std::string beside_mpirun = open_mpi_key(transports, "prterun-node1-4711@1", "0");
  setenv("SLURM_STEP_ID", "0", 1);
  CHECK(beside_mpirun == open_mpi_key(transports, "prterun-node1-4711@1", "1"));
}

TEST_CASE("jobs of Flux, and applications of PALS, are different runs") {
  const auto [id, rank, ranks] = GENERATE(std::tuple("FLUX_JOB_ID", "PMI_RANK", "FLUX_JOB_SIZE"),
                                          std::tuple("PALS_APID", "PALS_RANKID", "PMI_SIZE"));
  const CleanEnvironment clean;
  setenv(ranks, "4", 1);
  const auto key = [id = id, rank = rank](const char* of_job, const char* of_rank) {
    setenv(id, of_job, 1);
    setenv(rank, of_rank, 1);
    JobKey found;
    REQUIRE(find_job_key(found));
    CHECK(found.rank == std::atol(of_rank));
    CHECK(found.ranks == 4);
    return std::string(found.id.c_str());
  };
  const std::string first = key("f2oPQTp7", "0");
  CHECK(first == key("f2oPQTp7", "3"));
  CHECK(first != key("f2oPQTp9", "0"));
}

TEST_CASE("ranks of mpirun within a job of Flux are those of mpirun") {
  const CleanEnvironment clean;
  const std::string elsewhere = open_mpi_key("b282d6b19e6c7877-17b4cfc4ca08a09c", "1241251841", "3");
  setenv("FLUX_JOB_ID", "f2oPQTp7", 1);
  setenv("FLUX_TASK_RANK", "0", 1);
  CHECK(elsewhere == open_mpi_key("b282d6b19e6c7877-17b4cfc4ca08a09c", "1241251841", "1"));
}

}  // namespace job_key_test
