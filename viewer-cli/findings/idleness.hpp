#pragma once

#include "database/contents.hpp"
#include "views/figures.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace culprit::viewer {

/// Idleness in calls of one name.
struct IdleIn {
  std::string name;
  double seconds = 0;
  bool in_mpi = false;  ///< for other ranks: a call of MPI, or what a user's rule says to be like one
};

/// Idleness of the threads of one role.
struct RoleIdleness {
  std::uint32_t role = 0;
  std::uint64_t threads = 0;
  double total_s = 0, idle_s = 0;
  bool serves = false;        ///< only_serves(): no part of what is said of the run
  std::vector<IdleIn> where;  ///< most first
};

/// Idleness of the run. Of threads that only serve others `roles` alone knows.
struct Idleness {
  double total_s = 0, idle_s = 0;  ///< time, and what of it is idle
  std::vector<RoleIdleness> roles;
  std::vector<IdleIn> where;                      ///< over all roles, most first
  std::vector<database::ContextId> thread_waits;  ///< ascending: what is waited in that is not in MPI
};

/// From the metrics REALTIME (`time`) and `idleness`, where there is one. What lies in the contexts
/// `left_out` does not count. Cost: a pass over the contexts for each role.
Idleness find_idleness(const views::Figures& figures, std::uint32_t time,
                       std::optional<std::uint32_t> idleness, std::span<const database::ContextId> left_out);

}  // namespace culprit::viewer
