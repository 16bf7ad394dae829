#pragma once

#include "views/folded_tree.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace culprit::views {

/// What a scope contains, for telling whether another one contains much the same.
class Content {
 public:
  /// Looks at the first kLargest scopes below `scope`, but not into waits, which look alike everywhere.
  Content(const FoldedTree& tree, std::uint32_t scope);

  /// Whether nothing was found.
  [[nodiscard]] bool empty() const { return features_.empty(); }

  /// Share of what either contains that both contain, from 0 to 1; 0 where both contain nothing.
  friend double similarity(const Content& a, const Content& b);

  /// Whether both contain something that distinguishes them from others: a procedure, not only loops or
  /// waits.
  friend bool share_a_procedure(const Content& a, const Content& b);

  static constexpr std::size_t kLargest = 256;  ///< more do not change the answer, and cost time

 private:
  std::vector<std::uint64_t> features_;    ///< hashes, sorted, each once
  std::vector<std::uint64_t> procedures_;  ///< those of them that are procedures and no waits
};

double similarity(const Content& a, const Content& b);
bool share_a_procedure(const Content& a, const Content& b);

/// A scope's line counted from the line of its procedure; from the beginning of the file where that is in
/// another file.
std::int64_t relative_line(const FoldedTree& tree, std::uint32_t scope);

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

/// Pairs the loops of one scope in two runs, all of one file. Order is kept: a loop that stands before
/// another one in the first run does so in the second. Among all such pairings the one is taken whose loops
/// contain the most alike and stand at the same lines relative to their procedure. Loops that contain
/// different things and stand at different lines are no pair. `a` and `b` are scopes of the trees.
std::vector<std::pair<std::uint32_t, std::uint32_t>> align_loops(const FoldedTree& tree_a,
                                                                 std::span<const std::uint32_t> a,
                                                                 const FoldedTree& tree_b,
                                                                 std::span<const std::uint32_t> b);

}  // namespace culprit::views
