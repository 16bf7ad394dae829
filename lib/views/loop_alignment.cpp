// Pairs the loops of one scope in two runs (docs/algorithms.md 17): of all pairings that keep their order,
// the one with the most in common, by dynamic programming.
#include "views/loop_alignment.hpp"

#include "views/similarity.hpp"

#include <algorithm>

namespace culprit::views {
namespace {

// What a pair is worth. Two pairs of loops that have nothing in common outweigh one at the same line: where
// both runs have as many loops, lines have shifted. What loops contain outweighs either.
constexpr double kAnyPair = 0.25;
constexpr double kSameLine = 0.2;
constexpr double kSameContent = 1;

/// Beyond this many comparisons loops are paired by their order alone: nobody writes so many, generated code
/// may.
constexpr std::size_t kMostComparisons = 250'000;

struct Loop {
  std::uint32_t scope;
  std::int64_t line;
  Content content;
};

std::vector<Loop> in_order(const FoldedTree& tree, std::span<const std::uint32_t> scopes) {
  std::vector<std::uint32_t> sorted(scopes.begin(), scopes.end());
  std::stable_sort(sorted.begin(), sorted.end(), [&](std::uint32_t left, std::uint32_t right) {
    return tree[left].frame.line < tree[right].frame.line;
  });
  std::vector<Loop> loops;
  loops.reserve(sorted.size());
  for (const std::uint32_t scope : sorted)
    loops.push_back({scope, relative_line(tree, scope), Content(tree, scope)});
  return loops;
}

/// Negative: they are no pair, as they contain different things and stand at different lines.
double worth(const Loop& a, const Loop& b) {
  const double alike = similarity(a.content, b.content);
  const bool same_line = a.line == b.line;
  if (alike == 0 && !same_line && !a.content.empty() && !b.content.empty()) return -kAnyPair;
  return kAnyPair + (same_line ? kSameLine : 0) + kSameContent * alike;
}

/// The best worth of pairing the loops from (row, column) on, row by row.
class Table {
 public:
  Table(const std::vector<Loop>& a, const std::vector<Loop>& b)
      : a_(a), b_(b), columns_(b.size() + 1), best_((a.size() + 1) * columns_, 0) {
    for (std::size_t row = a.size(); row-- > 0;) {
      for (std::size_t column = b.size(); column-- > 0;) {
        at(row, column) = std::max({at(row + 1, column), at(row, column + 1), paired(row, column)});
      }
    }
  }

  [[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs() {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> result;
    for (std::size_t row = 0, column = 0; row < a_.size() && column < b_.size();) {
      if (worth(a_[row], b_[column]) > 0 && at(row, column) == paired(row, column)) {
        result.emplace_back(a_[row++].scope, b_[column++].scope);
      } else if (at(row, column) == at(row + 1, column)) {
        ++row;
      } else {
        ++column;
      }
    }
    return result;
  }

 private:
  double& at(std::size_t row, std::size_t column) { return best_[row * columns_ + column]; }
  double paired(std::size_t row, std::size_t column) {
    return worth(a_[row], b_[column]) + at(row + 1, column + 1);
  }

  const std::vector<Loop>& a_;
  const std::vector<Loop>& b_;
  std::size_t columns_;
  std::vector<double> best_;
};

}  // namespace

std::vector<std::pair<std::uint32_t, std::uint32_t>> align_loops(const FoldedTree& tree_a,
                                                                 std::span<const std::uint32_t> a,
                                                                 const FoldedTree& tree_b,
                                                                 std::span<const std::uint32_t> b) {
  const std::vector<Loop> loops_a = in_order(tree_a, a);
  const std::vector<Loop> loops_b = in_order(tree_b, b);
  if (loops_a.size() * loops_b.size() <= kMostComparisons) return Table(loops_a, loops_b).pairs();
  std::vector<std::pair<std::uint32_t, std::uint32_t>> result;
  for (std::size_t index = 0; index < std::min(loops_a.size(), loops_b.size()); ++index)
    result.emplace_back(loops_a[index].scope, loops_b[index].scope);
  return result;
}

}  // namespace culprit::views
