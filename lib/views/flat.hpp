#pragma once

#include "views/view.hpp"

#include <memory>

namespace culprit::views {

/// Load module → file → procedure → loop → statement, with the exact accumulators that merging formed. The
/// roots are the load modules; a node's number is its flat scope's.
class Flat final : public View {
 public:
  explicit Flat(const Figures& figures);

  [[nodiscard]] std::string_view name() const override { return "flat"; }
  [[nodiscard]] std::vector<NodeId> roots() override;
  [[nodiscard]] std::vector<NodeId> children(NodeId node) override;
  [[nodiscard]] Frame frame(NodeId node) const override;
  [[nodiscard]] database::ContextKind kind(NodeId node) const override {
    return figures_.experiment().flat[node].kind;
  }
  [[nodiscard]] std::uint8_t flags(NodeId node) const override;
  [[nodiscard]] Presence presence(NodeId node, std::optional<std::uint32_t> role) const override;
  [[nodiscard]] std::vector<std::uint64_t> per_thread(NodeId node, std::uint32_t metric,
                                                      bool inclusive) const override;
  [[nodiscard]] std::string id(NodeId node) const override;
  [[nodiscard]] std::optional<NodeId> find(std::string_view id) override;
  [[nodiscard]] NodeId numbered() const override {
    return static_cast<NodeId>(figures_.experiment().flat.size());
  }
  [[nodiscard]] NodeId subtree_end(NodeId node) const override {
    return figures_.experiment().flat[node].end;
  }
  [[nodiscard]] std::uint32_t alike(NodeId node) const override { return node; }
  [[nodiscard]] std::uint32_t kinds_alike() const override {
    return static_cast<std::uint32_t>(figures_.experiment().flat.size());
  }
  [[nodiscard]] NodeId parent(NodeId node) const override {
    const database::FlatId above = figures_.experiment().flat[node].parent;
    return above == 0 ? database::kNone : above;  // scope 0 is the whole run, and not shown
  }
  [[nodiscard]] std::vector<Frame> path(NodeId node) const override;

 protected:
  [[nodiscard]] double measured(NodeId node, const Column& column) const override;

 private:
  const Figures& figures_;
};

}  // namespace culprit::views
