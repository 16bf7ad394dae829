// A comparison of two runs as a view (docs/algorithms.md 17). Its scopes are numbered in pre-order, so that a
// subtree is an interval of numbers. A node's weight is the largest of its own and those below it, so that
// what leads to a change is in sight. Changes inside of waits may be left out of the weights: there, time
// moves between the levels of a library. Cost: linear in scopes.
#include "views/compared.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace culprit::views {
namespace {

using database::kNone;

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint32_t kWeight = kChangeNames.size();  // Column::metric of weights

}  // namespace

Compared::Compared(const Difference& difference, bool inside_waits) : difference_(difference) {
  number();
  weigh(inside_waits);
}

/// The difference has parents before their children; subtrees of a view's nodes are intervals.
void Compared::number() {
  const std::vector<ComparedScope>& all = difference_.scopes();
  nodes_.assign(all.size(), kNone);
  ends_.assign(all.size(), 0);
  std::vector<std::uint32_t> next;
  if (!all.empty()) next.push_back(0);
  while (!next.empty()) {
    const std::uint32_t scope = next.back();
    next.pop_back();
    nodes_[scope] = static_cast<NodeId>(scopes_.size());
    scopes_.push_back(scope);
    next.insert(next.end(), all[scope].children.rbegin(), all[scope].children.rend());
  }
  inside_.assign(all.size(), false);
  for (NodeId node = 1; node < numbered(); ++node) {
    const NodeId above = parent(node);
    inside_[node] = inside_[above] || (compared(above).flags & database::kFrontier) != 0;
  }
  for (NodeId node = numbered(); node-- > 0;) {
    ends_[node] = std::max(ends_[node], node + 1);
    if (const NodeId above = parent(node); above != kNone) ends_[above] = std::max(ends_[above], ends_[node]);
  }
}

void Compared::weigh(bool inside_waits) {
  largest_.assign(scopes_.size(), 0);
  for (NodeId node = numbered(); node-- > 0;) {
    // What is hidden keeps nothing in sight: the inside of waits trades time between its own levels.
    const bool internal =
        (compared(node).flags & (database::kInWait | database::kFrontier)) == database::kInWait;
    if (internal && !inside_waits) continue;
    largest_[node] = std::max(largest_[node], compared(node).weight);
    if (const NodeId above = parent(node); above != kNone)
      largest_[above] = std::max(largest_[above], largest_[node]);
  }
}

std::uint8_t Compared::flags(NodeId node) const {
  const std::uint8_t flags = compared(node).flags;
  if ((flags & database::kFrontier) != 0) return flags;
  return static_cast<std::uint8_t>(inside_[node] ? flags | database::kInWait : flags & ~database::kInWait);
}

Column Compared::column(Change which) {
  Column column;
  column.metric = static_cast<std::uint32_t>(which);
  column.title = kChangeNames.at(column.metric);
  return column;
}

Column Compared::weight() {
  Column column;
  column.metric = kWeight;
  column.title = "weight";
  return column;
}

double Compared::measured(NodeId node, const Column& column) const {
  if (column.metric == kWeight) return largest_[node];
  const ComparedScope& scope = compared(node);
  switch (static_cast<Change>(column.metric)) {
    case Change::change:
    case Change::percent:
      return std::abs(scope.change());
    case Change::before:
      return scope.a;
    case Change::after:
      return scope.b;
    case Change::ratio:
      return Difference::ratio(scope).value_or(kNoValue);
    case Change::loss:
      return difference_.scaling_loss(scope, scaling_).value_or(kNoValue);
  }
  return kNoValue;
}

std::vector<NodeId> Compared::roots() {
  if (scopes_.empty()) return {};
  return {0};
}

std::vector<NodeId> Compared::children(NodeId node) {
  std::vector<NodeId> result;
  for (const std::uint32_t child : compared(node).children) result.push_back(nodes_[child]);
  return result;
}

std::optional<NodeId> Compared::find(std::string_view id) {
  if (id.starts_with('d')) id.remove_prefix(1);
  return parse_index(id, scopes_.size());
}

NodeId Compared::parent(NodeId node) const {
  const std::uint32_t above = compared(node).parent;
  return above == kNone ? kNone : nodes_[above];
}

}  // namespace culprit::views
