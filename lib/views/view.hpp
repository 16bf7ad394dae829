#pragma once

#include "views/column.hpp"
#include "views/figures.hpp"
#include "views/frame.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::views {

/// A node of a view; numbers belong to one view object.
using NodeId = std::uint32_t;

/// Procedures of a cycle of calls that rows fold (joining.hpp), at most.
inline constexpr std::uint32_t kLongestCycle = 8;

/// A forest that is expanded on demand. Nodes once handed out stay valid as long as the view. Not
/// thread-safe: asking for children may create them. The Figures it was made from must outlive it.
class View {
 public:
  virtual ~View() = default;

  /// `calling-context`, `callers` or `flat`.
  [[nodiscard]] virtual std::string_view name() const = 0;

  [[nodiscard]] virtual std::vector<NodeId> roots() = 0;
  [[nodiscard]] virtual std::vector<NodeId> children(NodeId node) = 0;

  [[nodiscard]] virtual Frame frame(NodeId node) const = 0;
  /// The frame's kind alone, which costs less.
  [[nodiscard]] virtual database::ContextKind kind(NodeId node) const { return frame(node).kind; }

  /// database::ContextFlags of what the node stands for, merged (database::merge_flags).
  [[nodiscard]] virtual std::uint8_t flags(NodeId node) const = 0;

  /// In the column's unit; NaN where the figure does not exist. Columns that are derived are computed from
  /// their operands' values at the node.
  [[nodiscard]] double value(NodeId node, const Column& column) const;

  [[nodiscard]] virtual Presence presence(NodeId node, std::optional<std::uint32_t> role) const = 0;

  /// One value per location in the metric's own unit; reads per-thread values.
  [[nodiscard]] virtual std::vector<std::uint64_t> per_thread(NodeId node, std::uint32_t metric,
                                                              bool inclusive) const = 0;

  /// A name of the node that is the same whenever this database is shown: `c12`, `f3`, `p7.12`.
  [[nodiscard]] virtual std::string id(NodeId node) const = 0;

  /// The node that an id names; empty where it is none of this view.
  [[nodiscard]] virtual std::optional<NodeId> find(std::string_view id) = 0;

  /// How many nodes are there without expanding anything: numbers below this are nodes, and subtrees of them
  /// are intervals (see subtree_end). Calling contexts and flat scopes all are; of callers only the roots.
  [[nodiscard]] virtual NodeId numbered() const = 0;
  /// The end of the interval of numbered nodes that `node`'s subtree is.
  [[nodiscard]] virtual NodeId subtree_end(NodeId node) const = 0;
  /// What numbered nodes with the same label have in common; kNone where that is not known.
  [[nodiscard]] virtual std::uint32_t alike(NodeId node) const = 0;
  /// How many different numbers alike() gives, at most.
  [[nodiscard]] virtual std::uint32_t kinds_alike() const = 0;

  /// Whether one of the kLongestCycle procedures above a procedure may be the same as it, beside the next
  /// one: where cycles of calls can come back.
  [[nodiscard]] virtual bool recurs(NodeId /*procedure*/) const { return false; }
  /// Whether that may be so somewhere below a procedure.
  [[nodiscard]] virtual bool may_recur_below(NodeId /*procedure*/) const { return false; }

  /// The parent in the view's tree; kNone for roots.
  [[nodiscard]] virtual NodeId parent(NodeId node) const = 0;

  /// The frames from the root of the view's tree to the node, both included.
  [[nodiscard]] virtual std::vector<Frame> path(NodeId node) const = 0;

 protected:
  /// The value of a column that is not derived.
  [[nodiscard]] virtual double measured(NodeId node, const Column& column) const = 0;
};

/// A view of one of the database's trees, which have their scopes in pre-order: a node's number is its
/// scope's.
template <auto kTree>
class TreeView : public View {
 public:
  explicit TreeView(const Figures& figures) : figures_(figures) {}

  [[nodiscard]] std::vector<NodeId> children(NodeId node) override {
    std::vector<NodeId> result;
    for (NodeId child = node + 1; child < tree()[node].end; child = tree()[child].end)
      result.push_back(child);
    return result;
  }
  [[nodiscard]] Frame frame(NodeId node) const override {
    return frame_of(figures_.experiment(), tree()[node]);
  }
  [[nodiscard]] database::ContextKind kind(NodeId node) const override { return tree()[node].kind; }
  [[nodiscard]] std::uint8_t flags(NodeId node) const override { return tree()[node].flags; }
  [[nodiscard]] NodeId numbered() const override { return static_cast<NodeId>(tree().size()); }
  [[nodiscard]] NodeId subtree_end(NodeId node) const override { return tree()[node].end; }
  [[nodiscard]] std::uint32_t kinds_alike() const override {
    return static_cast<std::uint32_t>(figures_.experiment().flat.size());
  }

 protected:
  [[nodiscard]] const auto& tree() const { return figures_.experiment().*kTree; }

  const Figures& figures_;
};

/// One value of `column` per location, in its unit: for what is measured in each thread (see add_measured),
/// or derived from that. NaN where it does not exist.
std::vector<double> per_thread(const View& view, NodeId node, const Column& column);

/// Digits to a number below `limit`; empty where `text` is anything else.
std::optional<std::uint32_t> parse_index(std::string_view text, std::size_t limit);

}  // namespace culprit::views
