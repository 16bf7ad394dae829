#pragma once

#include "views/figures.hpp"

#include <array>
#include <cstdint>
#include <string>

namespace culprit::viewer {

/// One figure of an efficiency `Of`, as each output has it.
template <typename Of>
struct FigureOf {
  double Of::*value;
  const char* key;                   ///< in JSON
  bool exact;                        ///< time lines alone show it
  const char *name, *formula;        ///< in text
  const char *short_name, *meaning;  ///< in the browser
  const char* when_low;              ///< what that means, there
};

/// How well threads use the time of their processes outside MPI: the thread level of POP's hybrid
/// efficiencies (docs/algorithms.md 10). Of the threads' time outside MPI, less what workers idle while the
/// main thread is in MPI, each factor is the share that is left when one more part is taken away, in this
/// order: idle beside the main thread's work between parallel regions; idle otherwise; waiting for locks; in
/// OpenMP's run-time library. So their product is `thread`, the useful share. From a profile, with a trace as
/// well.
struct ThreadEfficiency {
  double hybrid = 0;  ///< of the run: times the parallel efficiency of the ranks, where there are ranks
  double thread = 0, serial = 0, load_balance = 0, contention = 0, overhead = 0;
  std::uint64_t threads = 0;  ///< that work; 0: nothing is known, or no process has more than one
  double all_s = 0;           ///< thread-seconds that these are shares of
};

inline constexpr std::array<FigureOf<ThreadEfficiency>, 6> kThreadEfficiencyFigures = {{
    {&ThreadEfficiency::hybrid, "hybrid", false, "hybrid efficiency", "parallel * thread efficiency",
     "hybrid efficiency", "parallel * thread efficiency", ""},
    {&ThreadEfficiency::thread, "efficiency", false, "  thread efficiency",
     "useful / all thread time outside MPI", "  thread efficiency", "useful / all thread time outside MPI",
     ""},
    {&ThreadEfficiency::serial, "serial", false, "    serial parts", "without idling beside serial code",
     "    serial parts", "without idling beside serial code",
     "workers idle while the main thread works alone"},
    {&ThreadEfficiency::load_balance, "load_balance", false, "    load balance",
     "without idling for other threads", "    load balance", "without idling for other threads",
     "some threads work more"},
    {&ThreadEfficiency::contention, "contention", false, "    contention", "without waiting for locks",
     "    contention", "without waiting for locks", "threads wait for locks"},
    {&ThreadEfficiency::overhead, "overhead", false, "    overhead", "without OpenMP's run-time library",
     "    overhead", "without OpenMP's run-time library", "the parts that are given out are too small"},
}};

/// `parallel`: the ranks' parallel efficiency; 1 where there are none.
ThreadEfficiency thread_efficiency_of(const views::Figures& figures, double parallel);

/// `Of 12 threads that work, over 1.2 min of thread time outside MPI.`
std::string thread_efficiency_sentence(const ThreadEfficiency& threads, bool unicode);

/// Whether time below `context` is a call of MPI's that communicates or starts MPI up; waits of threads for
/// each other are not.
bool is_outside_useful_time(const database::Contents& experiment, database::ContextId context);

}  // namespace culprit::viewer
