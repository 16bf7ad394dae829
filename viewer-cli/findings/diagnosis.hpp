#pragma once

#include "database/database.hpp"
#include "findings/idleness.hpp"
#include "findings/suspect_facts.hpp"
#include "views/figures.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace culprit::viewer {

inline constexpr double kWorthReporting = 0.01;  ///< of the run: idleness below is no finding

/// A balanced context that idleness is charged to.
struct Blamed {
  database::ContextId context = 0;
  std::uint32_t role = 0;
  double idle_s = 0;
  double counted_s = 0;  ///< of that, what shares count: without start-up, where that is left out
  bool serves = false;   ///< waited by threads that only serve others: no share counts it

  /// False: nearly all of it is left out, and not worth a paragraph.
  [[nodiscard]] bool counts() const { return 2 * counted_s >= idle_s; }
  /// Of all idleness that shares count.
  [[nodiscard]] double share(double all_counted_s) const {
    return all_counted_s > 0 ? counted_s / all_counted_s : 0;
  }
};

/// The innermost function around a context that the user wrote or chose, and no run-time library has; kNone
/// where there is none.
database::ContextId chosen_around(const database::Contents& experiment, database::ContextId context);

/// A procedure and what it does itself, waits left out.
struct Work {
  database::FlatId scope = 0;
  double seconds = 0;
  bool asleep = false;  ///< it has a processor less than half of that, though processors do not lack
  database::ContextId caller = database::kNone;  ///< of a run-time library's: whose calls take half or more
};

/// What the report says, in figures. Of threads that only serve others `roles` alone knows.
struct Diagnosis {
  double total_s = 0, idle_s = 0;
  bool work_on_processor =
      false;             ///< work counts only as far as threads had a processor: the machine lacks some
  double work_of_s = 0;  ///< what shares of work are of: `total_s`, or what threads had a processor
  double elapsed_s = 0;  ///< time of the thread that ran longest
  bool without_startup = false;  ///< what MPI_Init and MPI_Finalize took is no part of any of it
  std::vector<RoleIdleness> roles;
  std::vector<IdleIn> where;                      ///< over all roles, most first
  std::vector<database::ContextId> thread_waits;  ///< Idleness::thread_waits
  std::vector<Blamed> blamed;                     ///< most idleness first
  std::vector<Work> work;                         ///< the largest first, at most kWorkListed

  [[nodiscard]] double idle_share() const { return total_s > 0 ? idle_s / total_s : 0; }
  [[nodiscard]] double work_share(const Work& part) const {
    return work_of_s > 0 ? part.seconds / work_of_s : 0;
  }
};
inline constexpr std::size_t kWorkListed = 5;

/// A suspect, and what it explains of the idleness that one context is blamed for.
struct Charged {
  const database::Suspect* suspect = nullptr;
  double explains_s = 0;
};
/// Below a blamed context no more are named, and after the first none that explains less of its idleness.
inline constexpr std::size_t kSuspectsListed = 4;
inline constexpr double kWorthNaming = 0.1;
/// Those of a blamed context, the largest first.
std::vector<Charged> suspects_below(const database::Contents& experiment, const Blamed& blamed);

/// Blamed contexts of all roles, most idleness first. `without_startup`: shares do not count what is waited
/// in MPI_Init and MPI_Finalize.
std::vector<Blamed> find_blamed(const views::Figures& figures, bool without_startup = false);

/// Who waits below blamed contexts.
class Waiters {
 public:
  explicit Waiters(const views::Figures& figures);

  /// The locations of its role that wait at least half as long as the mean below it. Reads per-thread values.
  [[nodiscard]] std::vector<std::uint32_t> of(const Blamed& blamed) const;

 private:
  const views::Figures& figures_;
  std::optional<std::uint32_t> idleness_;
  std::vector<std::vector<std::uint32_t>> locations_;  ///< by role
};

/// Whether most of what is waited in a blamed place is waited for locks: others take them meanwhile, so that
/// to hold them for less saves less than is waited.
bool waits_for_locks(const database::Contents& experiment, const Blamed& blamed);
/// Whether most of it is waited in calls of MPI.
bool waits_in_mpi(const views::Figures& figures, const Blamed& blamed);

/// Everything that the report says. `figures` must be over all threads. `without_startup`: without MPI_Init
/// and MPI_Finalize.
Diagnosis diagnose(const views::Figures& figures, bool without_startup = false);

}  // namespace culprit::viewer
