#pragma once

#include "views/view.hpp"

#include <map>
#include <memory>
#include <vector>

namespace culprit::views {

/// Bottom up: one root per procedure, below it its callers, below each their callers, one level at a time. A
/// caller is the next procedure frame (or inlined procedure) up the path.
///
/// Inclusive figures count the outermost (exposed) instances of the root's procedure only, exclusive figures
/// all: a root's inclusive cost cannot exceed the total, and a node's figures are the sums of its callers'
/// (plus what has no caller). Sums and means come from summaries; min, max, standard
/// deviation, CV and count are formed from per-thread values when asked for.
class Callers final : public View {
 public:
  explicit Callers(const Figures& figures);

  [[nodiscard]] std::string_view name() const override { return "callers"; }
  [[nodiscard]] std::vector<NodeId> roots() override;
  [[nodiscard]] std::vector<NodeId> children(NodeId node) override;
  [[nodiscard]] Frame frame(NodeId node) const override;
  [[nodiscard]] std::uint8_t flags(NodeId node) const override;
  [[nodiscard]] Presence presence(NodeId node, std::optional<std::uint32_t> role) const override;
  [[nodiscard]] std::vector<std::uint64_t> per_thread(NodeId node, std::uint32_t metric,
                                                      bool inclusive) const override;
  [[nodiscard]] std::string id(NodeId node) const override;
  [[nodiscard]] std::optional<NodeId> find(std::string_view id) override;
  [[nodiscard]] NodeId numbered() const override { return roots_; }
  [[nodiscard]] NodeId subtree_end(NodeId node) const override { return node + 1; }
  [[nodiscard]] std::uint32_t alike(NodeId node) const override {
    return node < roots_ ? node : database::kNone;
  }
  [[nodiscard]] std::uint32_t kinds_alike() const override { return roots_; }
  [[nodiscard]] bool recurs(NodeId node) const override;
  [[nodiscard]] bool may_recur_below(NodeId node) const override;
  [[nodiscard]] NodeId parent(NodeId node) const override { return entries_[node].parent; }
  [[nodiscard]] std::vector<Frame> path(NodeId node) const override;

 protected:
  [[nodiscard]] double measured(NodeId node, const Column& column) const override;

 private:
  /// An instance of the root's procedure, seen from one of the frames that led to it.
  struct Instance {
    database::ContextId procedure = 0;
    database::ContextId at = 0;
    bool outermost = true;
  };
  struct Entry {
    std::uint32_t scope = 0;  ///< which procedure, by its number in the database
    NodeId parent = database::kNone;
    std::vector<Instance> instances;
    std::vector<NodeId> children;
    bool expanded = false;
  };

  /// Not for inlined procedures as roots. Read from the database the first time.
  [[nodiscard]] const std::vector<Instance>& instances(NodeId node) const;
  /// Whether an instance of the procedure lies in another, and there are not so many that to follow all of
  /// their callers takes long.
  [[nodiscard]] bool is_recursive(std::uint32_t scope) const;
  [[nodiscard]] database::ContextId caller(database::ContextId context) const;
  [[nodiscard]] double summed(NodeId node, const Column& column) const;
  [[nodiscard]] Blame own_blame(std::uint32_t role, database::ContextId procedure) const;
  [[nodiscard]] double blamed(NodeId node, const Column& column) const;

  const Figures& figures_;
  mutable std::vector<Entry> entries_;               ///< the roots first
  mutable std::map<std::uint32_t, bool> recursive_;  ///< by procedure, as far as asked for
  NodeId roots_ = 0;
};

}  // namespace culprit::views
