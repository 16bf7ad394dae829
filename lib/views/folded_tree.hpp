#pragma once

#include "views/column.hpp"
#include "views/figures.hpp"
#include "views/frame.hpp"

#include <cstdint>
#include <vector>

namespace culprit::views {

/// A scope of a FoldedTree.
struct FoldedScope {
  Frame frame;
  std::uint8_t flags = 0;
  std::uint32_t parent = database::kNone;
  database::ContextId context = 0;  ///< the first of those that it stands for
  std::vector<std::uint32_t> children;
  double own = 0;        ///< of the column's inclusive figure, what no scope below has; in its raw unit
  double inclusive = 0;  ///< in its raw unit
  double exclusive = 0;  ///< of an exclusive column: the figure as views define it, in its raw unit
};

/// The calling context tree without call sites and source lines: what a scope calls from several lines is one
/// scope below it. So two runs compare although lines have moved.
class FoldedTree {
 public:
  /// `column` is additive (Column::additive). `figures` must outlive
  /// this. Throws what the source throws.
  FoldedTree(const Figures& figures, Column column);

  /// In pre-order of first occurrence: parents before children; the first is the super-root. Empty where the
  /// run has no contexts.
  [[nodiscard]] const std::vector<FoldedScope>& scopes() const { return scopes_; }
  [[nodiscard]] const FoldedScope& operator[](std::uint32_t scope) const { return scopes_[scope]; }
  [[nodiscard]] const Figures& figures() const { return figures_; }

  /// The scope that a context is part of: itself, or the one it stands in.
  [[nodiscard]] std::uint32_t scope_of(database::ContextId context) const { return scope_of_[context]; }

  /// The frames from the super-root to `scope`, both included.
  [[nodiscard]] std::vector<Frame> path(std::uint32_t scope) const;

 private:
  const Figures& figures_;
  std::vector<FoldedScope> scopes_;
  std::vector<std::uint32_t> scope_of_;  // by context
};

}  // namespace culprit::views
