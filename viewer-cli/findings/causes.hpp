#pragma once

#include "database/contents.hpp"
#include "findings/thread_times.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace culprit::viewer {

/// Code that makes others wait although no single loop or procedure in it does so for most of the time.
struct CommonCause {
  database::ContextId context = 0;
  ThreadTimes who;        ///< what it and what it calls cost others, by thread
  bool one_code = false;  ///< all of it is one code's, called from several places or late on several threads
};

/// What ranks waited for others, by time lines, but in MPI_Init: what made ranks late there lies before the
/// time lines.
std::uint64_t waiting_after_init_ns(const database::Contents& experiment);

/// The innermost scope that with what it calls causes more than half of all waiting: the chemistry's solver,
/// of whose waiting twenty loops have a few percent each. None where one thread's single scope causes that
/// much, nor where ranks wait inside of it as well: that is said of every time loop. Cost: the depth of each
/// cause.
std::optional<CommonCause> common_cause(const database::Contents& experiment);

/// `Foam::Rosenbrock34::solve and what it calls, on rank 1`; of one code, `adapt (in pause_for at t.h:11) on
/// ranks 0-3, at most 954 ms each`, as cause_phrase() names it.
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

/// Of causes by scope, of code that samples tell; nothing where there are none.
std::optional<CostliestCode> costliest_code(const database::Contents& experiment,
                                            std::span<const database::Cause> causes);

/// The suspect's loop, call site or line that is the very same code as `context`, another of them in the same
/// procedure with the same time: both are called alike then. Else `context`. Cost: a look-up for each
/// suspect.
database::ContextId as_suspected(const database::Contents& experiment, database::ContextId context);

/// Code that a cost is charged to, as users know it: `ice (in spin at c.c:6)`. The former is the outermost
/// procedure that calls no MPI and of whose time the latter is four fifths, on all threads
/// (docs/algorithms.md 8). Cost: a look-up for each caller, and at most once more for each context below one.
std::string cause_phrase(const database::Contents& experiment, database::ContextId context, bool article,
                         std::size_t width, bool unicode);

/// The program's code that causes a fifth of all waiting or more, at most two: `ice (in spin at c.c:6) on
/// rank 1 (46 %) and output on rank 0 (40 %)`; empty where nothing does.
std::string main_causes_phrase(const database::Contents& experiment, std::size_t width, bool unicode);

}  // namespace culprit::viewer
