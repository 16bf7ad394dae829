// How much of what two scopes contain is the same (docs/algorithms.md 17), by sorted hashes of what is below
// them.
#include "views/similarity.hpp"

#include "views/frame.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>

namespace culprit::views {

namespace {

using database::ContextKind;

void sort_and_unite(std::vector<std::uint64_t>& hashes) {
  std::sort(hashes.begin(), hashes.end());
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
}

std::size_t common(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  std::vector<std::uint64_t> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both.size();
}

}  // namespace

std::int64_t relative_line(const FoldedTree& tree, std::uint32_t scope) {
  const Frame& self = tree[scope].frame;
  const std::uint32_t around = procedure_around(tree, scope);
  if (around == database::kNone || tree[around].frame.file != self.file) return self.line;
  return static_cast<std::int64_t>(self.line) - static_cast<std::int64_t>(tree[around].frame.line);
}

Content::Content(const FoldedTree& tree, std::uint32_t scope) {
  std::vector<std::uint32_t> open = {scope};
  // Level by level, so that of a large subtree what is nearest counts.
  for (std::size_t next = 0; next < open.size() && features_.size() < kLargest; ++next) {
    const FoldedScope& above = tree[open[next]];
    if (next != 0 && (above.flags & database::kFrontier) != 0) continue;
    for (const std::uint32_t child : above.children) {
      const FoldedScope& self = tree[child];
      std::string key = scope_key(tree, child, Likeness::name);
      if (self.frame.kind == ContextKind::loop) key += ':' + std::to_string(relative_line(tree, child));
      features_.push_back(std::hash<std::string>{}(key));
      if (is_procedure(self.frame.kind) && (self.flags & database::kInWait) == 0)
        procedures_.push_back(features_.back());
      open.push_back(child);
    }
  }
  sort_and_unite(features_);
  sort_and_unite(procedures_);
}

double similarity(const Content& a, const Content& b) {
  const std::size_t both = common(a.features_, b.features_);
  const std::size_t either = a.features_.size() + b.features_.size() - both;
  return either == 0 ? 0 : static_cast<double>(both) / static_cast<double>(either);
}

bool share_a_procedure(const Content& a, const Content& b) {
  return common(a.procedures_, b.procedures_) != 0;
}

namespace {

using database::ContextKind;

/// `libmpi.so` for `/usr/lib/libmpi.so.40`.
std::string_view module_name(std::string_view module, std::string_view program) {
  if (module == program) return "<program>";
  const std::string_view name = base_name(module);
  const std::size_t version = name.find(".so.");
  return version == std::string_view::npos ? name : name.substr(0, version + 3);
}

char kind_letter(ContextKind kind) {
  switch (kind) {
    case ContextKind::procedure:
    case ContextKind::inlined:
      return 'p';
    case ContextKind::loop:
      return 'l';
    case ContextKind::region:
      return 'g';
    default:
      return 'r';
  }
}

}  // namespace

std::string bare_name(std::string_view name) {
  // Operators hold such signs themselves.
  if (name.find("operator") != std::string_view::npos) return std::string(name);
  std::string bare;
  std::size_t depth = 0;
  for (const char letter : name) {
    if (letter == '<' || letter == '(') ++depth;
    if (depth == 0) bare += letter;
    if ((letter == '>' || letter == ')') && depth > 0) --depth;
  }
  // `<program root>` and `(anonymous)` are names as they are.
  return bare.empty() ? std::string(name) : bare;
}

std::uint32_t procedure_around(const FoldedTree& tree, std::uint32_t scope) {
  std::uint32_t at = tree[scope].parent;
  while (at != database::kNone && kind_letter(tree[at].frame.kind) != 'p') at = tree[at].parent;
  return at;
}

std::string scope_key(const FoldedTree& tree, std::uint32_t scope, Likeness likeness) {
  const Frame& frame = tree[scope].frame;
  std::string key(1, kind_letter(frame.kind));
  if (frame.kind == ContextKind::loop) {
    const std::uint32_t around = procedure_around(tree, scope);
    const bool at_home = around != database::kNone && tree[around].frame.file == frame.file;
    return at_home ? key : key.append(base_name(frame.file));
  }
  key += likeness == Likeness::bare_name ? bare_name(frame.name) : std::string(frame.name);
  if (likeness != Likeness::whole) return key;
  const std::string_view program = tree.figures().experiment().run.program;
  key.append(1, '\n').append(base_name(frame.file));
  return key.append(1, '\n').append(module_name(frame.module, program));
}

// Pairs the loops of one scope in two runs (docs/algorithms.md 17): of all pairings that keep their order,
// the one with the most in common, by dynamic programming.

namespace {

// What a pair is worth. Two pairs of loops that have nothing in common outweigh one at the same line: where
// both runs have as many loops, lines have shifted. What loops contain outweighs either.
constexpr double kAnyPair = 0.25;
constexpr double kSameLine = 0.2;
constexpr double kSameContent = 1;

/// Beyond this many comparisons loops are paired by their order alone: nobody writes as many, generated code
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
