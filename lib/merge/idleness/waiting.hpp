#pragma once

#include "database/database.hpp"
#include "measurement/kinds.hpp"
#include "merge/attribution/attribute.hpp"
#include "merge/rules/idle_rules.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace culprit::merge {

/// What decides whether time at a context is idle (docs/algorithms.md 5.1).
struct Waiting {
  measurement::WaitKind kind =
      measurement::WaitKind::none;  ///< of the enclosing frontier frame; none: outside all
  bool by_name = false;             ///< idle where no layer marks this kind of wait
  bool unmarked = false;            ///< nobody marks it: idle by name where others are marked, too
  bool never = false;       ///< set-up, or code that moves data or computes: never idle, whatever is marked
  bool in_library = false;  ///< in code of a library whose own code waits, or of the C library on its behalf
  bool io = false;          ///< in a call that a rule knows as input and output, outside of MPI's other calls

  friend bool operator==(const Waiting&, const Waiting&) = default;
};

/// Finds the frontier frames (outermost frames that a rule knows as communication or wait) and what lies at
/// or below them, and sets flags and wait_kind of the contexts. Below a frontier frame, procedures that a
/// rule knows as `moves`, and code of the program itself (a callback: a module in `executables` other than
/// the frontier's), are work. A statement in a library that waits by rule (`library`) is a frontier itself,
/// and so is what such a library calls to yield or to sleep; a procedure of such a library that waits, but
/// works at the program's tasks meanwhile (GOMP_taskwait), is none: its statements are. Returns what holds
/// for each context's own time.
std::vector<Waiting> find_waiting(Attribution& attribution, const IdleRules& rules,
                                  const std::set<std::string>& executables);

}  // namespace culprit::merge
