#include "launch.hpp"

#include "measurement/launch_variables.hpp"

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
  // other way round, and of PALS, where PBS runs jobs. Names of Slurm, Flux and PBS serve only to notice
  // copies that know nothing of each other: a batch script is one process.
  const Sign signs[] = {
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", {"openmpi"}},
      {"PMIX_RANK", "SLURM_STEP_NUM_TASKS", {"openmpi", "mpich"}},
      {"PMI_RANK", "PMI_SIZE", {"mpich", "openmpi"}},
      {"PALS_RANKID", "PMI_SIZE", {"mpich", "openmpi"}},
  };
  for (const Sign& sign : signs) {
    const std::optional<int> rank = number(sign.rank);
    if (rank)
      return {.launched = true,
              .rank = *rank,
              .size = number(sign.size).value_or(1),
              .implementations = sign.implementations};
  }
  // MPICH first: Open MPI would abort such copies.
  const std::vector<std::string> either = {"mpich", "openmpi"};
  for (const measurement::TaskVariables& task : measurement::kTaskVariables) {
    const int tasks = number(task.ranks).value_or(1);
    if (number(task.rank) && tasks > 1)
      return {.launched = true, .rank = *number(task.rank), .size = tasks, .implementations = either};
  }
  // PBS does not say how many copies run, nor which one this is: so each of them refuses.
  const auto& [virtual_node, node] = measurement::kPbsNodeVariables;
  if (measurement::is_task_of_pbsdsh(number(virtual_node).value_or(number(node).value_or(-1)),
                                     number(measurement::kPbsTaskVariable).value_or(-1)))
    return {.launched = true, .copies = true, .implementations = either};
  return {};
}

}  // namespace culprit::prof_mpi
