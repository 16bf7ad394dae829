#pragma once

#include "cct/module_table.hpp"
#include "database/database.hpp"
#include "merge/attribution/recover_structure.hpp"
#include "merge/input/process_table.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace culprit::merge {

/// Who does alike work (docs/algorithms.md, Roles): threads that are compared with each other and with no
/// others.
///  - `main`: the main threads of all ranks; where no process is a rank, of all processes;
///  - workers, by the procedure that they were started with;
///  - in a run with ranks, the threads of processes that are no rank form roles of their own:
///    `process PROGRAM main`, `process PROGRAM ROUTINE`.
struct Roles {
  std::vector<database::Role> roles;  ///< main first, then by name, those of other processes last
  /// Whose values add up: per location its role's number, or, where the thread lived too briefly to be
  /// compared (blame::lived_briefly), the same behind the numbers of all roles.
  std::vector<std::uint32_t> sums;

  [[nodiscard]] std::uint32_t of(std::size_t location) const {
    return sums[location] % static_cast<std::uint32_t>(roles.size());
  }
};

/// Where the workers' start routines lie in the united tree's modules; known places only, ascending, unique.
std::vector<Place> start_routines(const ProcessTable& processes, const cct::ModuleTable& modules);

/// Finds the roles of all threads of `processes`.
Roles find_roles(const ProcessTable& processes, const cct::ModuleTable& modules,
                 const RecoveredStructure& structure);

}  // namespace culprit::merge
