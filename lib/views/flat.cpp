// The Flat view (docs/algorithms.md 4), with the exact accumulators that merging formed.
#include "views/flat.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace culprit::views {

using database::ContextId;
using database::ContextKind;
using database::FlatId;
using database::kNone;

std::vector<ContextId> outermost_instances(const database::Contents& experiment, FlatId scope) {
  constexpr std::size_t kBits = 64;
  // A module's may be all contexts: marking them is much faster than sorting.
  std::vector<std::uint64_t> inside(experiment.contexts.size() / kBits + 1);
  for (const ContextId context : experiment.flat_instances.between(scope, experiment.flat[scope].end)) {
    inside[context / kBits] |= std::uint64_t{1} << (context % kBits);
  }
  std::vector<ContextId> outermost;
  for (std::size_t at = 0; at < experiment.contexts.size();) {
    const std::uint64_t rest = inside[at / kBits] >> (at % kBits);
    if (rest == 0) {
      at = (at / kBits + 1) * kBits;
      continue;
    }
    at += static_cast<std::size_t>(std::countr_zero(rest));
    outermost.push_back(static_cast<ContextId>(at));
    at = experiment.contexts[at].end;
  }
  return outermost;
}

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
