#pragma once

#include "database/database.hpp"
#include "database/encoding.hpp"

#include <cstdint>
#include <vector>

// What follows from an experiment's trees and blame, and would take a reader a walk over all contexts to find
// out (docs/formats.md, "Look-up tables"). Made when a database is written.
namespace culprit::database {

/// Lists of contexts, one per key, one after the other.
struct ContextLists {
  std::vector<std::uint32_t> ends;  ///< per key
  std::vector<ContextId> contexts;  ///< ascending within a list
};

/// The contexts that are instances of each flat scope itself.
ContextLists flat_instances(const Experiment& experiment);

/// The flags of each flat scope: those of all contexts inside it, merged. `flags` are the contexts'.
std::vector<std::uint8_t> flat_flags(const Experiment& experiment, const std::vector<std::uint8_t>& flags);

/// A procedure or inlined procedure as the view of callers has it: all contexts of the same name, file,
/// module, line and kind.
struct Procedure {
  ContextId first = 0;     ///< an instance, the first
  FlatId flat = kNone;     ///< the flat scope that has exactly the same instances; kNone where none has
  std::uint8_t flags = 0;  ///< of its instances, merged
};
struct Procedures {
  std::vector<std::uint32_t> of_context;  ///< by context: number of its procedure, kNone for other kinds
  std::vector<Procedure> procedures;      ///< numbered by their first instances
  ContextLists instances;                 ///< of kind procedure only; empty lists for inlined ones
};
Procedures number_procedures(const Experiment& experiment, const std::vector<std::uint8_t>& flags);

/// Blame of a flat scope. Exclusive, for a procedure: what falls on its own code, loops and inlined code
/// (files and modules: the sum over their procedures); for other scopes: on the scope itself. Inclusive: on
/// the scope's outermost instances and all below them. What falls on a call site counts for the scope that
/// holds the call.
struct FlatBlameRow {
  std::uint32_t role = 0;
  FlatId scope = 0;
  BlameSums inclusive, exclusive;
};
/// By (role, scope), without those that have none.
std::vector<FlatBlameRow> flat_blame(const Experiment& experiment);

}  // namespace culprit::database

namespace culprit::database {

/// By context: its flags, and kStartUp where it holds. A stripped program's `_start` is known by its place
/// below the root.
std::vector<std::uint8_t> flags_with_start_up(const Experiment& experiment);

}  // namespace culprit::database
