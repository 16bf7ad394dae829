// Takes frames of the sampler's own libraries out of each tree (docs/algorithms.md 1); their values go to the
// nearest frame outside. One pass over the nodes.
#include "merge/input/own_frames.hpp"

#include <algorithm>

namespace culprit::merge {

using measurement::Cell;
using measurement::Measurement;
using measurement::Stretch;
using measurement::ThreadProfile;

namespace {

std::size_t further_events(const Measurement& file) {
  const std::size_t all = file.process.events.size();
  return file.process.has_realtime && all > 0 ? all - 1 : all;
}

void add(Cell& into, const Cell& from) {
  into.time_ns += from.time_ns;
  into.samples += from.samples;
  into.weight_sq += from.weight_sq;
  into.blocked += from.blocked;
  into.cpu_ns += from.cpu_ns;
  into.marked_ns += from.marked_ns;
  if (from.mark != measurement::WaitKind::none) into.mark = from.mark;
}

/// Samples that come to `node` from another: of another stretch perhaps than those that it has.
void move_stretch(ThreadProfile& thread, const Cell& from, cct::NodeId node, Cell& into) {
  if (into.time_ns == 0) {
    into.stretch = from.stretch;
  } else if (into.stretch != from.stretch && from.time_ns != 0) {
    thread.epochs.push_back({.node = node,
                             .kind = measurement::EpochKind::stretch_samples,
                             .size_class = from.stretch.code,
                             .count = from.samples + from.blocked,
                             .total_ns = from.time_ns,
                             .squares = static_cast<double>(from.weight_sq)});
  }
}

/// Moves the values of cell `from` to `node`.
void move_values(ThreadProfile& thread, std::uint32_t from, cct::NodeId node, std::size_t events) {
  const Cell values = thread.cells[from];
  Cell& into = cell_of(thread, node, events);
  move_stretch(thread, values, node, into);
  add(into, values);
  const std::uint32_t to = thread.cell[node];
  for (std::size_t e = 0; e < events; ++e) {
    thread.events[to * events + e].value += thread.events[from * events + e].value;
    thread.events[to * events + e].samples += thread.events[from * events + e].samples;
  }
}

void drop(ThreadProfile& thread, const std::vector<measurement::Module>& modules, std::size_t events) {
  const auto own = [&](const cct::Node& node) {
    return node.frame.module < modules.size() && modules[node.frame.module].own;
  };
  const std::vector<cct::Node> nodes = std::move(thread.nodes);
  const std::vector<std::uint32_t> cells = std::move(thread.cell);
  const std::vector<std::uint32_t> units = std::move(thread.units);
  thread.nodes.clear();
  thread.cell.clear();
  thread.units.clear();
  std::vector<cct::NodeId> image(nodes.size());
  for (cct::NodeId i = 0; i < nodes.size(); ++i) {
    if (i != 0 && own(nodes[i])) {
      image[i] = image[nodes[i].parent];
      continue;
    }
    image[i] = static_cast<cct::NodeId>(thread.nodes.size());
    thread.nodes.push_back(
        {.frame = nodes[i].frame, .parent = i == 0 ? cct::kNoNode : image[nodes[i].parent]});
    thread.cell.push_back(cells[i]);
    if (!units.empty()) thread.units.push_back(units[i]);
  }
  const auto moved = [&](Stretch stretch) {
    return stretch.is_gap() ? Stretch{Stretch::kFirst + image[stretch.after()]} : stretch;
  };
  for (Cell& cell : thread.cells) cell.stretch = moved(cell.stretch);
  for (measurement::Epoch& epoch : thread.epochs) {
    epoch.node = image[epoch.node];
    if (is_stretch(epoch.kind)) epoch.size_class = moved(Stretch{epoch.size_class}).code;
  }
  for (cct::NodeId i = 0; i < nodes.size(); ++i) {
    if (i != 0 && own(nodes[i]) && cells[i] != cct::kNoNode) move_values(thread, cells[i], image[i], events);
  }
}

}  // namespace

Cell& cell_of(ThreadProfile& thread, cct::NodeId node, std::size_t events) {
  if (thread.cell[node] == cct::kNoNode) {
    thread.cell[node] = static_cast<std::uint32_t>(thread.cells.size());
    thread.cells.emplace_back();
    thread.events.resize(thread.cells.size() * events);
  }
  return thread.cells[thread.cell[node]];
}

void drop_own_frames(Measurement& file) {
  for (ThreadProfile& thread : file.threads) {
    if (!thread.own_frames) continue;
    drop(thread, file.modules, further_events(file));
    thread.own_frames = false;
  }
}

}  // namespace culprit::merge
