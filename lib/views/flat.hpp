#pragma once

#include "views/view.hpp"

namespace culprit::views {

/// Load module → file → procedure → loop → statement, with the exact accumulators that merging formed. The
/// roots are the load modules; a node's number is its flat scope's.
class Flat final : public TreeView<&database::Contents::flat> {
 public:
  using TreeView::TreeView;

  [[nodiscard]] std::string_view name() const override { return "flat"; }
  [[nodiscard]] std::vector<NodeId> roots() override;
  [[nodiscard]] Presence presence(NodeId node, std::optional<std::uint32_t> role) const override;
  [[nodiscard]] std::vector<std::uint64_t> per_thread(NodeId node, std::uint32_t metric,
                                                      bool inclusive) const override;
  [[nodiscard]] std::string id(NodeId node) const override;
  [[nodiscard]] std::optional<NodeId> find(std::string_view id) override;
  [[nodiscard]] std::uint32_t alike(NodeId node) const override { return node; }
  [[nodiscard]] NodeId parent(NodeId node) const override {
    const database::FlatId above = tree()[node].parent;
    return above == 0 ? database::kNone : above;  // scope 0 is the whole run, and not shown
  }
  [[nodiscard]] std::vector<Frame> path(NodeId node) const override;

 protected:
  [[nodiscard]] double measured(NodeId node, const Column& column) const override;
};

/// The contexts inside a flat scope that no other context inside it encloses: its outermost (exposed)
/// instances (docs/algorithms.md 4), ascending. With recursion the inner instances are left out, so that the
/// inclusive values of what is listed add up to at most the total.
std::vector<database::ContextId> outermost_instances(const database::Contents& experiment,
                                                     database::FlatId scope);

}  // namespace culprit::views
