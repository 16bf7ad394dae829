// The Calling Context view (docs/algorithms.md 4): the canonical tree, top down.
#include "views/calling_context.hpp"

#include <algorithm>

namespace culprit::views {

std::vector<NodeId> CallingContext::roots() {
  if (figures_.experiment().contexts.empty()) return {};
  return {0};
}

double CallingContext::measured(NodeId node, const Column& column) const {
  return figures_.at_context(column, node);
}

Presence CallingContext::presence(NodeId node, std::optional<std::uint32_t> role) const {
  return figures_.context_presence(node, role);
}

std::vector<std::uint64_t> CallingContext::per_thread(NodeId node, std::uint32_t metric,
                                                      bool inclusive) const {
  return figures_.per_thread(node, metric, inclusive);
}

std::string CallingContext::id(NodeId node) const {
  return 'c' + std::to_string(node);
}

std::optional<NodeId> CallingContext::find(std::string_view id) {
  if (id.starts_with('c')) id.remove_prefix(1);
  return parse_index(id, figures_.experiment().contexts.size());
}

const std::vector<NodeId>& CallingContext::recurring() const {
  if (recurring_) return *recurring_;
  const auto& contexts = tree();
  std::vector<NodeId> around(contexts.size(), database::kNone);  // the procedure that each lies in, or is
  recurring_.emplace();
  for (NodeId node = 0; node < contexts.size(); ++node) {
    const database::Context& self = contexts[node];
    const NodeId caller = self.parent == database::kNone ? database::kNone : around[self.parent];
    around[node] = is_procedure(self.kind) ? node : caller;
    if (around[node] != node || caller == database::kNone) continue;
    NodeId above = caller;
    for (std::uint32_t step = 0; step < kLongestCycle && above != database::kNone; ++step) {
      above = contexts[above].parent == database::kNone ? database::kNone : around[contexts[above].parent];
      if (above == database::kNone || contexts[above].name != self.name ||
          contexts[above].module != self.module)
        continue;
      recurring_->push_back(node);
      break;
    }
  }
  return *recurring_;
}

bool CallingContext::recurs(NodeId procedure) const {
  return std::ranges::binary_search(recurring(), procedure);
}

bool CallingContext::may_recur_below(NodeId procedure) const {
  const auto first = std::ranges::upper_bound(recurring(), procedure);
  return first != recurring().end() && *first < subtree_end(procedure);
}

std::vector<Frame> CallingContext::path(NodeId node) const {
  std::vector<Frame> frames;
  for (const database::ContextId context : path_to(figures_.experiment(), node))
    frames.push_back(frame(context));
  return frames;
}

}  // namespace culprit::views
