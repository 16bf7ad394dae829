#pragma once

#include "database/contents.hpp"
#include "findings/suspect_parts.hpp"
#include "views/figures.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace culprit::viewer {

/// Locations of a role whose threads lived long enough to be compared with each other (docs/algorithms.md
/// 5.4). Reads per-thread values.
std::vector<std::uint32_t> compared_threads(const views::Figures& figures, std::uint32_t role);

/// A suspect with what its threads did (docs/algorithms.md 5.4 to 5.6).
struct SuspectFacts {
  const database::Suspect* suspect = nullptr;
  std::optional<double> more_work;  ///< the culprits' mean work over that of the other threads, less one
  double work_s = 0;                ///< the culprits' mean work
  bool only_here = false;           ///< the other threads do no such work at all
  bool only_this_place = false;     ///< then: but they run what it is named by, elsewhere in it
  bool in_mpi = false;              ///< most of the excess is in MPI calls, not waiting
  bool moves_data = false;          ///< and they move much data for what they take: large transfers
  std::optional<double> excess_cpu_share;  ///< CPU time per wall time of the culprits' excess outside waits
  std::optional<double> excess_io_share;   ///< what of the culprits' excess is input and output
  std::optional<double> usual_cpu_share;   ///< the same of all work of the role's threads
  std::vector<SuspectPart> parts;          ///< procedures that hold the excess together, most first
  /// The culprits take longer for nearly all that they do, alike: their processors may be slow, which counts
  /// of instructions would tell, but there are none (docs/algorithms.md 5.6).
  bool longer_for_all = false;
  /// Without ranks: the culprits sleep there, and the others are threads of other processes. They may well
  /// wait for these, as a shell does.
  bool may_wait = false;
};

/// What a role's threads take outside of communication, waits, MPI_Init and MPI_Finalize.
struct WorkTime {
  double wall_s = 0, cpu_s = 0;

  [[nodiscard]] double cpu_share() const { return std::min(cpu_s / wall_s, 1.0); }
};
/// Empty where either is unknown or there is none.
std::optional<WorkTime> work_time(const views::Figures& figures, std::uint32_t role);

/// Whether a suspect's excess is mostly input and output.
bool reads_or_writes(const SuspectFacts& facts);

/// Whether a suspect's excess lacks the CPU time that work of its kind usually has, and no input and output
/// says why: the code was preempted or slept there (docs/algorithms.md 5.6).
bool lacks_cpu(const SuspectFacts& facts);

/// Whether to balance a suspect's work may make the run shorter: not where its excess lacks CPU time, nor
/// where threads that are no ranks sleep, read or write, which may be to wait for another process, nor where
/// the other threads may be there for other work.
bool may_save(const database::Contents& experiment, const SuspectFacts& facts);

/// How sure a suspect is: a hint where its excess lacks CPU time, or may be a wait for other processes,
/// likely at most where the processor may be slow, else what prof-mpi found (docs/blame.md).
database::Confidence confidence_of(const SuspectFacts& facts);

/// Compares a suspect's threads with the others of their role; reads per-thread values.
SuspectFacts examine(const views::Figures& figures, const database::Suspect& suspect);

}  // namespace culprit::viewer
