#pragma once

#include "database/trace_analyses.hpp"
#include "findings/diagnosis.hpp"
#include "views/figures.hpp"

#include <cstdint>
#include <optional>

namespace culprit::viewer {

/// What the verdict rests on, in seconds of all threads together unless said otherwise.
struct Losses {
  std::uint64_t samples = 0;
  std::uint64_t threads = 0;       ///< without those that lived for less than a tenth of the longest's time
  std::uint64_t without_path = 0;  ///< samples of which only the number is known
  bool few_processors = false;     ///< the machine is a suspect, and not for slow processors
  double processors_s = 0;         ///< what those that could have worked lacked one then
  double machine_explains_s = 0;   ///< of waiting, what that explains at most
  double runnable_s = 0;           ///< the same of all threads, in waits too
  double crowded_s = 0;            ///< all that threads lacked that share processors with too many
  double no_processor_s = 0;       ///< IdlenessParts::no_processor_s
  double perhaps_no_processor_s = 0;  ///< IdlenessParts::perhaps_no_processor_s
  double elsewhere_s = 0;             ///< IdlenessParts::elsewhere_s
  double undivided_s = 0;             ///< IdlenessParts::undivided_s
  double total_s = 0;                 ///< of the run
  double asleep_s = 0;  ///< neither waiting for others nor reading and writing: wants no processor
  double startup_s = 0;
  double io_s = 0;              ///< in calls that read and write, and waiting for ranks that are in them
  double io_waited_s = 0;       ///< of that, the waiting
  double late_for_files_s = 0;  ///< in collective calls of MPI-IO, waiting for late ranks: not in `io_s`
  // Waiting for uneven work, by how it is uneven.
  double serial_s = 0, lasting_s = 0, drifting_s = 0, intermittent_s = 0;
  double messages_s = 0;      ///< the other waiting in MPI, and `moving_s`
  double suspects_s = 0;      ///< of waiting for uneven work, what suspects explain
  double late_code_s = 0;     ///< by time lines, what code of late ranks cost that did not lack a processor
  double moving_s = 0;        ///< in MPI calls, working: copying, sending, polling, reductions; not files
  double hidden_s = 0;        ///< waiting in MPI that is no loss, since main threads work meanwhile
  double threads_s = 0;       ///< waiting elsewhere: barriers and idle workers of OpenMP, locks, conditions
  double threads_lost_s = 0;  ///< of it, no more than processors were free for
  double overhead_s = 0;      ///< in OpenMP's run-time library, neither waiting nor in the program's code

  /// Waiting for late ranks, however their work is uneven.
  [[nodiscard]] double late_s() const { return serial_s + lasting_s + drifting_s + intermittent_s; }
  /// Waiting for no rank that is late all the time.
  [[nodiscard]] double passing_s() const { return drifting_s + intermittent_s + messages_s - moving_s; }
  [[nodiscard]] bool mostly_lost() const { return 2 * without_path > samples; }
  [[nodiscard]] double sum() const {
    return startup_s + io_s + late_s() + messages_s + threads_lost_s + overhead_s;
  }
};

/// With the suspects that the words name: of each kind the one that explains most.
struct MeasuredLosses {
  Losses losses;
  std::optional<SuspectFacts> lasting, serial, io;
};
/// `figures` must be over all threads, and `diagnosis` theirs.
MeasuredLosses measure_losses(const views::Figures& figures, const Diagnosis& diagnosis);

/// How long a thread was ready to run without a processor, in work and in waits.
double runnable_s(const database::ScheduledThread& thread);

/// Waiting in MPI for ranks that are late, in seconds, by whether they are so over the whole run or over
/// parts of it.
struct Late {
  double lasting_s = 0, drifting_s = 0;
};
/// From a map over time (ours; docs/diagnosis.md): who is late is in MPI calls less than the others. What the
/// others are in them longer than the one that is least, over the run and over each eighth of it. Cost: the
/// map's bins.
Late who_is_late(const database::TimeMap& map);

}  // namespace culprit::viewer
