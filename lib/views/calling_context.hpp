#pragma once

#include "views/view.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::views {

/// The canonical tree, top down. A node's number is its context's; the one root is the super-root.
class CallingContext final : public TreeView<&database::Contents::contexts> {
 public:
  using TreeView::TreeView;

  [[nodiscard]] std::string_view name() const override { return "calling-context"; }
  [[nodiscard]] std::vector<NodeId> roots() override;
  [[nodiscard]] Presence presence(NodeId node, std::optional<std::uint32_t> role) const override;
  [[nodiscard]] std::vector<std::uint64_t> per_thread(NodeId node, std::uint32_t metric,
                                                      bool inclusive) const override;
  [[nodiscard]] std::string id(NodeId node) const override;
  [[nodiscard]] std::optional<NodeId> find(std::string_view id) override;
  [[nodiscard]] std::uint32_t alike(NodeId node) const override { return tree()[node].flat; }
  [[nodiscard]] NodeId parent(NodeId node) const override { return tree()[node].parent; }
  [[nodiscard]] std::vector<Frame> path(NodeId node) const override;
  [[nodiscard]] bool recurs(NodeId procedure) const override;
  [[nodiscard]] bool may_recur_below(NodeId procedure) const override;

 protected:
  [[nodiscard]] double measured(NodeId node, const Column& column) const override;

 private:
  /// Procedures that recur, ascending. Cost: one pass when it is first asked.
  [[nodiscard]] const std::vector<NodeId>& recurring() const;

  mutable std::optional<std::vector<NodeId>> recurring_;
};

}  // namespace culprit::views
