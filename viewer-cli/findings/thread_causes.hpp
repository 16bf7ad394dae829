#pragma once

#include "database/contents.hpp"
#include "findings/causes.hpp"
#include "views/figures.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace culprit::viewer {

/// Code that made other threads of its process wait.
struct ThreadCause {
  database::ContextId context = 0;
  std::uint32_t role = 0;  ///< of the threads that ran it
  double caused_s = 0;
  /// The loop of a parallel region that it lies in, where several threads ran it: its iterations are uneven,
  /// or unevenly divided. kNone: none.
  database::ContextId loop = database::kNone;
  /// Nearly all other threads idled whenever it ran.
  bool serial = false;
  /// The code that a call of MPI waits for, by the blame of its waiting (docs/algorithms.md 5); null: it is
  /// no such call, or nobody is suspected.
  const database::Suspect* awaits = nullptr;
  /// With time lines: the code that cost most of those who waited in that call; else nothing.
  std::optional<CostlyCode> delay = {};
};

/// Who idles because of whom within processes (docs/algorithms.md 12).
struct ThreadCauses {
  double idle_s = 0;     ///< counted, of all threads; of killed processes at least the sum of both below
  double served_s = 0;   ///< of that, what threads idled that only serve others (serving_threads.hpp)
  double caused_s = 0;   ///< of that, what other threads caused
  double unborne_s = 0;  ///< and what none did
  double lock_waited_s = 0, lock_caused_s = 0, lock_unborne_s = 0;
  std::vector<ThreadCause> idleness;  ///< the deepest code that a good part comes from, most first
  std::vector<ThreadCause> locks;     ///< likewise
  double overhead_s = 0;  ///< in OpenMP's run-time library, neither waiting nor in the program's code
  std::vector<ThreadCause> overhead;  ///< likewise
};

/// Whether the context is a call of MPI that waits: what it waits for is blamed elsewhere.
bool is_mpi_wait(const database::Contents& experiment, database::ContextId context);

/// Whether the context is the body of a parallel region or of a task of OpenMP.
bool is_parallel_body(const database::Contents& experiment, database::ContextId context);

/// Of `figures` over all threads. Nothing where no process had several threads.
ThreadCauses find_thread_causes(const views::Figures& figures);

/// `The worker threads idle 41 % of their time, 83 % of that while the main thread is in assemble (serial).`,
/// a sentence for each of what is worth telling of the run, which takes `total_s` thread-seconds; may be
/// none.
std::vector<std::string> thread_cause_phrases(const views::Figures& figures, double total_s,
                                              std::size_t width, bool unicode);

}  // namespace culprit::viewer
