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
/// A raw frame at an address becomes the frame of the procedure that holds it, then the loops and inlined
/// procedures around it, outermost first, then a statement (a sample) or a call (any other frame), named by
/// file and line; the frames of called procedures hang below their call. Equal siblings merge. An inlined
/// procedure has the file and line of its call. Siblings are ordered by (kind, name, module, file, line), so
/// that the result depends on the set of contexts only.
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
