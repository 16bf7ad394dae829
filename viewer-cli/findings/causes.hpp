#pragma once

#include "database/contents.hpp"
#include "findings/thread_times.hpp"
#include "views/figures.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace culprit::viewer {

/// Code that makes others wait although no single loop or procedure in it does so for most of the time.
struct CommonCause {
  database::ContextId context = 0;
  ThreadTimes who;  ///< what it and what it calls cost others, by thread; without those with little of it
};

/// What ranks waited for others, by time lines, but in MPI_Init: what made ranks late there lies before the
/// time lines.
std::uint64_t waiting_after_init_ns(const database::Contents& experiment);

/// The innermost scope that with what it calls causes more than half of all waiting: the chemistry's solver,
/// of whose waiting twenty loops have a few percent each. None where one thread's single scope causes that
/// much, nor where ranks wait inside of it as well: that is said of every time loop. Cost: the depth of each
/// cause.
std::optional<CommonCause> common_cause(const database::Contents& experiment);

/// `Foam::Rosenbrock34::solve and what it calls, on rank 1`.
std::string common_cause_phrase(const database::Contents& experiment, const CommonCause& cause,
                                std::size_t width, bool unicode);

/// Code that makes others wait, on all threads together.
struct CostlyCode {
  database::TimedScope scope;
  ThreadTimes who;  ///< what it costs others, by thread; without those with little of it
  std::uint64_t cost_ns = 0, long_term_ns = 0;
};

/// What costs most over all threads.
struct CostliestCode {
  CostlyCode code;
  /// Where that is an MPI call, beyond its waits: what costs most of the program's own code.
  std::optional<CostlyCode> of_program;
  bool in_call = false;
};

/// Whether that is an MPI call, beyond its waits, rather than the program's own code.
bool is_in_call(const database::Contents& experiment, const database::TimedScope& scope);

/// Of causes by scope; nothing where there are none.
std::optional<CostliestCode> costliest_code(const database::Contents& experiment,
                                            std::span<const database::Cause> causes);

/// The suspect's loop, call site or line that is the very same code as `context`, another of them in the same
/// procedure with the same time: both are called alike then. Else `context`. Cost: a look-up for each
/// suspect.
database::ContextId as_suspected(const views::Figures& figures, database::ContextId context);

/// Code that a cost is charged to, as users know it: `ice (in spin at c.c:6)`. The former is the outermost
/// procedure that calls no MPI and of whose time the latter is four fifths, on all threads
/// (docs/algorithms.md 8). Cost: a look-up for each caller.
std::string cause_phrase(const views::Figures& figures, database::ContextId context, bool article,
                         std::size_t width, bool unicode);

/// The program's code that causes a fifth of all waiting or more, at most two: `ice (in spin at c.c:6) on
/// rank 1 (46 %) and output on rank 0 (40 %)`; empty where nothing does.
std::string main_causes_phrase(const views::Figures& figures, std::size_t width, bool unicode);

/// Who waited for a thread: the exact waits of a run, by whom and where they were for.
class WaitsFor {
 public:
  explicit WaitsFor(const database::Contents& experiment);

  /// By waiter, who may be there several times: all waits for that thread in that call.
  [[nodiscard]] std::span<const database::Wait* const> thread(std::uint32_t location,
                                                              database::ContextId call) const;

 private:
  std::map<std::pair<std::uint32_t, database::ContextId>, std::vector<const database::Wait*>> waits_;
};

/// How sure causes are (docs/blame.md, "How sure"): by what their call path cost all that waited for it, of
/// the run, and by what is known of the machine. The thresholds follow from the scored figures
/// (docs/figures.md, "Is the diagnosis right?"). Views `experiment`, which must outlive it.
class CauseConfidence {
 public:
  explicit CauseConfidence(const database::Contents& experiment);

  /// Of one of the experiment's causes: that of its call path, on all threads.
  [[nodiscard]] database::Confidence of(const database::Cause& cause) const;
  /// What would make it surer; of sure ones nothing.
  [[nodiscard]] std::string surer_with(const database::Cause& cause) const;
  /// Of a call path whose causes cost so much; `between`: the code between two MPI calls that was not
  /// sampled.
  [[nodiscard]] bool is_likely(std::uint64_t cost_ns, bool between) const;
  /// A sentence for texts.
  [[nodiscard]] std::string what_likely_means() const;

 private:
  struct Judgement {
    database::Confidence confidence;
    const char* surer_with;
  };
  [[nodiscard]] Judgement judge(std::uint64_t cost_ns, bool between) const;
  [[nodiscard]] Judgement judge(const database::Cause& cause) const;

  std::map<database::TimedScope, std::uint64_t> by_path_;  ///< what a scope's causes cost
  double run_ns_ = 0;                                      ///< of all traced ranks
  bool busy_machine_ = false;
};

}  // namespace culprit::viewer
