#pragma once

#include "views/folded_tree.hpp"

#include <cstdint>
#include <string_view>
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

  /// Whether both contain something that tells them from others: a procedure, not only loops or waits.
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

}  // namespace culprit::views
