#pragma once

#include "views/difference.hpp"
#include "views/view.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::views {

/// The columns of a comparison, in their order.
enum class Change : std::uint8_t { change, percent, before, after, ratio, loss };
inline constexpr std::array<const char*, 6> kChangeNames = {"change", "%",     "before",
                                                            "after",  "ratio", "loss %"};

/// A comparison as a view: its scopes are nodes, numbered in pre-order. A figure of this view is what
/// siblings are ordered by; what is written is in compared().
class Compared final : public View {
 public:
  /// `inside_waits`: changes inside of waits, too, give weight to the scopes around them. `difference` must
  /// outlive this.
  explicit Compared(const Difference& difference, bool inside_waits = true);

  /// Orders scopes as the column `which` does, the largest first: changes by their size, whatever their sign;
  /// NaN where there is no value.
  [[nodiscard]] static Column column(Change which);
  /// How much a scope or anything below it matters, of Difference::whole().
  [[nodiscard]] static Column weight();
  /// What losses refer to.
  void set_scaling(Scaling scaling) { scaling_ = scaling; }

  [[nodiscard]] const Difference& difference() const { return difference_; }
  /// The number of a node's scope in the difference, and the node of a scope.
  [[nodiscard]] std::uint32_t scope(NodeId node) const { return scopes_[node]; }
  [[nodiscard]] NodeId node(std::uint32_t scope) const { return nodes_[scope]; }
  [[nodiscard]] const ComparedScope& compared(NodeId node) const {
    return difference_.scopes()[scopes_[node]];
  }

  [[nodiscard]] std::string_view name() const override { return "comparison"; }
  [[nodiscard]] std::vector<NodeId> roots() override;
  [[nodiscard]] std::vector<NodeId> children(NodeId node) override;
  [[nodiscard]] Frame frame(NodeId node) const override { return compared(node).frame(); }
  [[nodiscard]] database::ContextKind kind(NodeId node) const override { return compared(node).frame().kind; }
  /// In a wait is what lies below one here: a scope may stand for code that is in a wait in one run only.
  [[nodiscard]] std::uint8_t flags(NodeId node) const override;
  /// None: threads are those of two runs.
  [[nodiscard]] Presence presence(NodeId /*node*/, std::optional<std::uint32_t> /*role*/) const override {
    return {};
  }
  [[nodiscard]] std::vector<std::uint64_t> per_thread(NodeId /*node*/, std::uint32_t /*metric*/,
                                                      bool /*inclusive*/) const override {
    return {};
  }
  [[nodiscard]] std::string id(NodeId node) const override { return 'd' + std::to_string(node); }
  [[nodiscard]] std::optional<NodeId> find(std::string_view id) override;
  [[nodiscard]] NodeId numbered() const override { return static_cast<NodeId>(scopes_.size()); }
  [[nodiscard]] NodeId subtree_end(NodeId node) const override { return ends_[node]; }
  [[nodiscard]] std::uint32_t alike(NodeId node) const override { return compared(node).alike; }
  [[nodiscard]] std::uint32_t kinds_alike() const override { return difference_.kinds_alike(); }
  [[nodiscard]] NodeId parent(NodeId node) const override;
  [[nodiscard]] std::vector<Frame> path(NodeId node) const override {
    return difference_.path(scopes_[node]);
  }

 protected:
  [[nodiscard]] double measured(NodeId node, const Column& column) const override;

 private:
  void number();
  void weigh(bool inside_waits);

  const Difference& difference_;
  Scaling scaling_ = Scaling::strong;
  std::vector<std::uint32_t> scopes_;  ///< by node
  std::vector<NodeId> nodes_;          ///< by scope
  std::vector<NodeId> ends_;           ///< by node
  std::vector<bool> inside_;           ///< by node: a wait is above it
  std::vector<double> largest_;        ///< by node: the weight of it or of any below it
};

}  // namespace culprit::views
