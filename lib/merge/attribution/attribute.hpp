#pragma once

#include "cct/canonical.hpp"
#include "database/database.hpp"
#include "merge/attribution/recover_structure.hpp"
#include "merge/rules/idle_rules.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace culprit::merge {

/// The procedure that stands for frames which the sampler left out of a deep recursion (cct::kGap); in no
/// module.
inline constexpr const char* kLeftOut = "(recursion: frames left out)";

/// Where source files moved since they were compiled: old and new prefix, the first that fits is replaced.
using PrefixMap = std::vector<std::pair<std::string, std::string>>;
std::string replace_prefix(const std::string& path, const PrefixMap& prefixes);

/// The united tree with static structure overlaid (docs/algorithms.md 1), and the flat tree that it maps to.
///
/// A raw frame at an address becomes: the frame of the procedure that holds it, then the loops and inlined
/// procedures around it, outermost first, then a statement (a sample) or a call (any other frame), named by
/// file and line. So:
///  - frames and samples at instructions of one statement merge; a call that several instructions of a line
///  make, too;
///  - the frames of called procedures hang below their call;
///  - an inlined procedure stands for its call site (file and line are those of the call);
///  - code in no known module is one procedure, `<unknown code>`, whatever its address;
///  - where a call goes to a function of another module, by name, but the frame below it is of a procedure
///  there
///    that has no name, the function left its frame by a jump: it stands between them;
///  - a function's address that stands in for a frame (runtime/api.hpp) merges with the function's own frame
///    where that is there, too;
///  - a procedure that is a binding of the MPI call that the nearest enclosing MPI frame stands for (PMPI_X
///  or
///    mpi_x_ within MPI_X) merges into that frame, with whatever lies between them; it is named MPI_X.
/// Siblings are ordered by (kind, name, module, file, line), so the result depends on the set of contexts
/// only.
struct Attribution {
  std::vector<std::string> strings;  ///< sorted, unique; [0] is empty
  std::vector<database::Context> contexts;
  std::vector<database::FlatScope> flat;
  std::vector<database::ContextId> own;  ///< per raw node: the context that values recorded at it belong to
  std::vector<std::uint8_t>
      unresolved;  ///< per context: a procedure of which nothing is known but its address
};

Attribution attribute(const cct::SharedTree& shared, const RecoveredStructure& structure,
                      const IdleRules& rules, const PrefixMap& prefixes);

}  // namespace culprit::merge
