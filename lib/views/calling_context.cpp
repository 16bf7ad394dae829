// The Calling Context view (docs/algorithms.md 4): the canonical tree, top down.
#include "views/calling_context.hpp"

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

std::vector<Frame> CallingContext::path(NodeId node) const {
  std::vector<Frame> frames;
  for (const database::ContextId context : path_to(figures_.experiment(), node))
    frames.push_back(frame(context));
  return frames;
}

}  // namespace culprit::views
