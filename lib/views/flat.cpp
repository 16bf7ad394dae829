// The Flat view (docs/algorithms.md 4), with the exact accumulators that merging formed.
#include "views/flat.hpp"

#include "views/outermost.hpp"

#include <algorithm>

namespace culprit::views {
namespace {

using database::ContextId;
using database::ContextKind;
using database::FlatId;
using database::kNone;

}  // namespace

std::vector<NodeId> Flat::roots() {
  if (figures_.experiment().flat.empty()) return {};
  return children(0);
}

double Flat::measured(NodeId node, const Column& column) const {
  return figures_.at_flat(column, node);
}

Presence Flat::presence(NodeId node, std::optional<std::uint32_t> role) const {
  return figures_.flat_presence(node, role);
}

std::vector<std::uint64_t> Flat::per_thread(NodeId node, std::uint32_t metric, bool inclusive) const {
  const database::Contents& experiment = figures_.experiment();
  if (inclusive) return figures_.per_thread(outermost_instances(experiment, node), metric, true);
  if (auto kept = figures_.flat_exclusive_per_thread(node, metric)) return *std::move(kept);
  // Exclusive: all instances, inner ones too. Files and modules are the sum over their procedures.
  const database::FlatScope& self = experiment.flat[node];
  const bool of_procedures = self.kind == ContextKind::file || self.kind == ContextKind::module;
  std::vector<ContextId> instances =
      experiment.flat_instances.between(node, of_procedures ? self.end : node + 1);
  if (of_procedures) {
    std::erase_if(instances, [&](ContextId context) {
      return experiment.contexts[context].kind != ContextKind::procedure;
    });
  }
  return figures_.per_thread(instances, metric, false);
}

std::string Flat::id(NodeId node) const {
  return 'f' + std::to_string(node);
}

std::optional<NodeId> Flat::find(std::string_view id) {
  if (!id.starts_with('f')) return std::nullopt;
  return parse_index(id.substr(1), figures_.experiment().flat.size());
}

std::vector<Frame> Flat::path(NodeId node) const {
  std::vector<Frame> frames;
  for (FlatId scope = node; scope != kNone && scope != 0; scope = figures_.experiment().flat[scope].parent) {
    frames.push_back(frame(scope));
  }
  std::reverse(frames.begin(), frames.end());
  return frames;
}

}  // namespace culprit::views
