// The call paths of all threads of a running job, united by procedure, with their time in the run and in the
// last interval. Below an MPI call nothing is a node; there only code that moves data, or is the program's
// own (a reduction's operator), counts, as it is no waiting. Each context also has a spot for sentences: the
// innermost procedure and line of the program, and the call in which it waits, reads or writes from there.
// Inclusive times are formed in one pass over the nodes, children before parents.
#include "follow/live_tree.hpp"

#include <algorithm>

namespace culprit::follow {

LiveTree::LiveTree(Code& code) : code_(&code) {
  nodes_.push_back({.procedure = code.name("<all threads>")});
  spot({});
}

std::uint32_t LiveTree::child(std::uint32_t parent, std::uint32_t procedure) {
  const auto id = static_cast<std::uint32_t>(nodes_.size());
  const auto [entry, fresh] = children_.try_emplace(std::uint64_t{parent} << 32 | procedure, id);
  if (fresh) nodes_.push_back({.parent = parent, .procedure = procedure, .depth = nodes_[parent].depth + 1});
  return entry->second;
}

std::uint32_t LiveTree::line_of(std::uint32_t node, const Step& step) {
  std::vector<Line>& lines = nodes_[node].lines;
  const auto same = [&](const Line& line) { return line.file == step.file && line.line == step.line; };
  const auto found = std::ranges::find_if(lines, same);
  const auto index = static_cast<std::uint32_t>(found - lines.begin());
  if (found == lines.end()) lines.push_back({.file = step.file, .line = step.line});
  return index;
}

std::uint32_t LiveTree::spot(const Spot& spot) {
  const auto [entry, fresh] = spot_ids_.try_emplace(spot, static_cast<std::uint32_t>(spots_.size()));
  if (fresh) spots_.push_back(spot);
  return entry->second;
}

/// Below an MPI call only what moves data, or is the program's own again (a reduction's operator), matters.
void LiveTree::enter(Place& at, const Step& step) {
  const Procedure& procedure = code_->procedures()[step.procedure];
  at.hidden = procedure.of_sampler;
  if (at.mpi) {
    at.never = at.never || procedure.moves || procedure.of_program;
    return;
  }
  if (procedure.of_sampler || (procedure.interpreter && at.python)) return;
  at.python = at.python || procedure.python;
  at.node = child(at.node, step.procedure);
  at.line = step.line == 0 ? kNone : line_of(at.node, step);
  Spot here = spots_[at.spot];
  const bool calls = here.call != kNone;
  if (procedure.mpi || procedure.io || procedure.waits) {
    at.mpi = procedure.mpi;
    at.never = procedure.setup;
    at.io = at.io || procedure.io;
    if (!calls) here.call = step.procedure;
  } else if (procedure.inlined || (at.python && !procedure.python)) {
    // The procedure around it is named: what is inlined is mostly too small to say anything, and what a
    // Python function calls of C is not the program's own code.
  } else if (!procedure.library && !at.io) {
    here = {.procedure = step.procedure, .file = step.file, .line = step.line};
  } else if (here.procedure == kNone && !calls) {
    here.call = step.procedure;  // a library's own thread, or start-up
  }
  at.spot = spot(here);
}

Place LiveTree::enter(const Place& from, std::span<const Step> steps) {
  Place at = from;
  for (const Step& step : steps) enter(at, step);
  return at;
}

void LiveTree::start_interval() {
  for (Node& node : nodes_) {
    node.interval = {};
    for (Line& line : node.lines) line.interval_ns = 0;
  }
}

void LiveTree::add(const Place& place, NodeTime time, bool in_interval) {
  Node& node = nodes_[place.node];
  Line* const line = place.line < node.lines.size() ? &node.lines[place.line] : nullptr;
  node.whole.time += time.time;
  node.whole.wait += time.wait;
  if (line != nullptr) line->whole_ns += time.time;
  if (!in_interval) return;
  node.interval.time += time.time;
  node.interval.wait += time.wait;
  if (line != nullptr) line->interval_ns += time.time;
}

std::vector<NodeTime> LiveTree::inclusive(bool of_interval) const {
  std::vector<NodeTime> sums(nodes_.size());
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    const NodeTime& own = of_interval ? nodes_[i].interval : nodes_[i].whole;
    sums[i].time += own.time;
    sums[i].wait += own.wait;
    if (i == 0) break;
    sums[nodes_[i].parent].time += sums[i].time;
    sums[nodes_[i].parent].wait += sums[i].wait;
  }
  return sums;
}

}  // namespace culprit::follow
