#include "launch.hpp"

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace culprit::prof_mpi {
namespace {

/// The number that an environment variable holds, if it is set and holds one.
std::optional<int> number(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  const std::string_view view(text);
  int value = 0;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (error != std::errc() || end != view.data() + view.size()) return std::nullopt;
  return value;
}

}  // namespace

Launch detect_launch() {
  struct Sign {
    const char* rank;
    const char* size;
    std::vector<std::string> implementations;
  };
  // Open MPI's own names; those of PMIx, which Open MPI speaks and MPICH can; those of PMI, where it is the
  // other way round, and of PALS, where PBS runs jobs. SLURM's names for a step serve only to notice copies
  // that know nothing of each other: in a batch script, which is one process, the step's size is not set.
  const Sign signs[] = {
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", {"openmpi"}},
      {"PMIX_RANK", "SLURM_STEP_NUM_TASKS", {"openmpi", "mpich"}},
      {"PMI_RANK", "PMI_SIZE", {"mpich", "openmpi"}},
      {"PALS_RANKID", "PMI_SIZE", {"mpich", "openmpi"}},
  };
  for (const Sign& sign : signs) {
    const std::optional<int> rank = number(sign.rank);
    if (rank) return {true, *rank, number(sign.size).value_or(1), sign.implementations};
  }
  const std::optional<int> tasks = number("SLURM_STEP_NUM_TASKS");
  // MPICH first: Open MPI would abort such copies.
  if (tasks && *tasks > 1) return {true, number("SLURM_PROCID").value_or(0), *tasks, {"mpich", "openmpi"}};
  return {};
}

}  // namespace culprit::prof_mpi
