#pragma once

#include "views/view.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace culprit::views {

/// What of a view is passed over, because few want to see it.
struct PassedOver {
  bool fold_calls = false;  ///< a call site becomes part of its callees' lines
  bool statements = false;
  bool start_up = false;        ///< frames that only lead to main or to a thread's start routine
  bool wait_internals = false;  ///< what lies below the outermost communication or wait frame
  bool recursion = false;       ///< a procedure that calls itself, and loops without a place directly inside
                                ///< each other, are one row (views/folding.hpp)
  bool library = false;         ///< so is what the C++ standard library does inside of a call (likewise)

  friend bool operator==(const PassedOver&, const PassedOver&) = default;
};

/// How many nodes were passed over for each reason.
struct PassedOverCount {
  std::uint64_t statements = 0, wait_internals = 0, start_up = 0;
};

struct Fold;

/// A node that is not passed over.
struct VisibleNode {
  NodeId node = 0;
  std::optional<NodeId> call;        ///< the call site that was folded into it
  std::shared_ptr<const Fold> fold;  ///< set: the row stands for more than this node
};

/// What a row stands for that shows several nodes as one.
struct Fold {
  std::vector<NodeId> outermost;  ///< ascending; inclusive figures are the sums of theirs
  std::vector<NodeId>
      re_entered;               ///< without those of these: calls of the procedure around a loop, by itself
  std::vector<NodeId> own;      ///< exclusive figures are the sums of theirs; blame that of `parts`
  std::vector<NodeId> parts;    ///< what is below these, and none of them, is below the row
  std::uint32_t recursion = 0;  ///< how many calls of itself lie inside each other
  std::uint32_t loops = 0;      ///< how many loops without a place lie inside each other; 0: one
  bool library = false;         ///< insides of the standard library are among the parts
  std::vector<VisibleNode> unsampled;  ///< rows without any figure; the row stands for these alone
};

/// Appends those of `nodes` that are visible, and in the place of call sites and start-up frames what lies
/// below them. `call`: the site that `nodes` were called from, if it is folded.
void collect_visible(View& view, const std::vector<NodeId>& nodes, std::optional<NodeId> call,
                     const PassedOver& passed_over, std::vector<VisibleNode>& into, PassedOverCount& count);

/// Whether the children of `node` are to be looked for: not those of a wait whose internals are passed over.
/// They count as one branch.
bool may_open(View& view, NodeId node, const PassedOver& passed_over, PassedOverCount& count);

/// The figure that a visible node shows: where call sites are folded, exclusive blame on a site counts where
/// the call stands.
[[nodiscard]] double visible_value(View& view, NodeId node, const Column& column, bool fold_calls);
/// The same of a row that may stand for several; NaN where no sum of theirs is the figure.
[[nodiscard]] double visible_value(View& view, const VisibleNode& row, const Column& column, bool fold_calls);

}  // namespace culprit::views
