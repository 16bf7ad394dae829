#pragma once

#include "views/folded_tree.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace culprit::views {

/// How strictly scopes of two runs are compared by name, the strictest first.
enum class Likeness : std::uint8_t {
  whole,     ///< name, file and load module
  name,      ///< name
  bare_name  ///< name without parameters and template arguments
};

/// What scopes that are alike have in common. Directories, versions of libraries and whether a procedure was
/// inlined do not count, nor does the file name of the run's program. Of loops only the file counts, and that
/// only where it is not their procedure's, so that files may be renamed.
std::string scope_key(const FoldedTree& tree, std::uint32_t scope, Likeness likeness);

/// The procedure or inlined procedure that `scope` stands in; kNone where there is none.
std::uint32_t procedure_around(const FoldedTree& tree, std::uint32_t scope);

/// A name without parameters and template arguments: `solve<double>(int)` is `solve`.
std::string bare_name(std::string_view name);

}  // namespace culprit::views
