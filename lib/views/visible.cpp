// Decides which nodes of a view are passed over, and forms the figures of rows that stand for several nodes
// (views/folding.cpp). Inclusive figures of such rows are the sums of their outermost nodes, less those of
// calls that enter the procedure around a loop anew; exclusive ones are the sums of their own nodes, of blame
// of all their parts. Only sums and means add up, so such rows have no other statistic (docs/algorithms.md
// 4).
#include "views/visible.hpp"

#include "views/derived.hpp"

#include <algorithm>
#include <limits>

namespace culprit::views {
namespace {

using database::ContextKind;

bool internal(const View& view, NodeId node) {
  const std::uint8_t flags = view.flags(node);
  return (flags & database::kInWait) != 0 && (flags & database::kFrontier) == 0;
}

/// Whether what lies below a node is what it calls.
bool is_call_tree(const View& view) {
  return view.name() == "calling-context" || view.name() == "comparison";
}

}  // namespace

void collect_visible(View& view, const std::vector<NodeId>& nodes, std::optional<NodeId> call,
                     const PassedOver& passed_over, std::vector<VisibleNode>& into, PassedOverCount& count) {
  for (const NodeId node : nodes) {
    const ContextKind kind = view.kind(node);
    if (kind == ContextKind::statement && passed_over.statements) {
      ++count.statements;
      continue;
    }
    if (passed_over.wait_internals && internal(view, node)) {
      ++count.wait_internals;
      continue;
    }
    if (passed_over.start_up && (view.flags(node) & database::kStartUp) != 0) {
      ++count.start_up;
      if (is_call_tree(view))
        collect_visible(view, view.children(node), std::nullopt, passed_over, into, count);
      continue;
    }
    if (kind == ContextKind::call && passed_over.fold_calls) {
      const std::vector<NodeId> callees = view.children(node);
      if (!callees.empty()) {
        collect_visible(view, callees, node, passed_over, into, count);
        continue;
      }
    }
    into.push_back({node, call, nullptr});
  }
}

bool may_open(View& view, NodeId node, const PassedOver& passed_over, PassedOverCount& count) {
  const bool frontier = (view.flags(node) & database::kFrontier) != 0;
  if (!passed_over.wait_internals || !frontier || !is_call_tree(view)) return true;
  if (!view.children(node).empty()) ++count.wait_internals;
  return false;
}

double visible_value(View& view, NodeId node, const Column& column, bool fold_calls) {
  double value = view.value(node, column);
  if (!column.blame || column.name.inclusive || !fold_calls) return value;
  if (view.name() != "calling-context") return value;  // others have no call sites
  for (const NodeId child : view.children(node)) {
    if (view.kind(child) == ContextKind::call) value += view.value(child, column);
  }
  return value;
}

double visible_value(View& view, const VisibleNode& row, const Column& column, bool fold_calls) {
  if (!row.fold) return visible_value(view, row.node, column, fold_calls);
  if (!row.fold->unsampled.empty()) return 0;
  if (column.derived) {
    std::vector<double> operands;
    for (const Column& operand : column.derived->operands())
      operands.push_back(visible_value(view, row, operand, fold_calls));
    return column.derived->evaluate(operands);
  }
  const bool inclusive = column.name.inclusive;
  const std::vector<NodeId>& nodes = inclusive                            ? row.fold->outermost
                                     : column.blame && is_call_tree(view) ? row.fold->parts
                                                                          : row.fold->own;
  // By callers, exclusive figures are sums of those below as well.
  const bool whole = (!inclusive && is_call_tree(view)) || row.fold->re_entered.empty();
  if (nodes.size() == 1 && whole) return visible_value(view, nodes.front(), column, fold_calls);
  if (!column.additive()) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (const NodeId node : nodes) sum += visible_value(view, node, column, fold_calls);
  if (whole) return sum;
  for (const NodeId node : row.fold->re_entered) sum -= visible_value(view, node, column, fold_calls);
  return std::max(sum, 0.0);  // but for rounding
}

}  // namespace culprit::views
