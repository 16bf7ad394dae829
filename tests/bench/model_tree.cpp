#include "model_tree.hpp"

#include <algorithm>
#include <span>

namespace culprit::bench {
namespace {

using cct::FrameKey;
using cct::FrameKind;
using cct::NodeId;
using measurement::Cell;
using measurement::Measurement;
using measurement::ThreadProfile;
using measurement::WaitKind;
using Random = std::mt19937_64;

constexpr double kWaits = 0.05;    ///< of the samples, where the source has waits to copy
constexpr double kLeaves = 0.45;   ///< how often a walk ends in a sample rather than in one more call
constexpr double kLacking = 0.02;  ///< of the core's samples, per group
constexpr int kSpines = 8;         ///< paths of the full depth; what grows at random stays far shallower
constexpr std::uint64_t kMostSamples = 40;
constexpr std::uint64_t kLongestWaitNs = 300'000'000;

std::uint64_t below(Random& random, std::uint64_t bound) {
  return random() % bound;
}

bool chance(Random& random, double probability) {
  return static_cast<double>(random() >> 11) < probability * 0x1p53;
}

/// What the source's trees are made of.
struct Frames {
  std::vector<FrameKey> calls, samples;
  std::vector<std::vector<FrameKey>> waits;  ///< from the first frame outside the program to the sample
  std::uint64_t period = 5'000'000;

  explicit Frames(const Measurement& source);
  void add(const Measurement& source, const ThreadProfile& thread, NodeId id);
};

/// The frames around a sample that are not the program's own.
std::vector<FrameKey> library_path(const Measurement& source, const ThreadProfile& thread, NodeId node) {
  std::vector<FrameKey> path;
  for (; node != 0; node = thread.nodes[node].parent) {
    const FrameKey& frame = thread.nodes[node].frame;
    if (frame.module >= source.modules.size() || source.modules[frame.module].executable) break;
    path.push_back(frame);
  }
  std::ranges::reverse(path);
  return path;
}

void Frames::add(const Measurement& source, const ThreadProfile& thread, NodeId id) {
  const FrameKey& frame = thread.nodes[id].frame;
  if (frame.module >= source.modules.size()) return;
  const std::uint32_t cell = thread.cell[id];
  if (cell != cct::kNoNode && thread.cells[cell].mark == WaitKind::mpi) {
    if (auto path = library_path(source, thread, id); !path.empty()) waits.push_back(std::move(path));
  } else if (source.modules[frame.module].executable) {
    if (frame.kind == FrameKind::call) calls.push_back(frame);
    if (frame.kind == FrameKind::sample) samples.push_back(frame);
  }
}

Frames::Frames(const Measurement& source) {
  if (source.process.has_realtime && !source.process.events.empty()) period = source.process.events[0].period;
  for (const ThreadProfile& thread : source.threads) {
    for (NodeId id = 1; id < thread.nodes.size(); ++id) add(source, thread, id);
  }
  for (auto* list : {&calls, &samples}) {
    std::ranges::sort(*list);
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  if (calls.empty() || samples.empty()) throw std::runtime_error("the source has too few frames for a model");
}

Cell some_work(Random& random, std::uint64_t period) {
  Cell cell;
  cell.samples = 1 + below(random, 1 + below(random, kMostSamples));
  cell.weight_sq = cell.samples;
  cell.time_ns = cell.samples * period;
  cell.cpu_ns = cell.time_ns - below(random, period / 10);
  return cell;
}

Cell some_wait(Random& random) {
  Cell cell;
  cell.blocked = 1 + below(random, 3);
  cell.time_ns = cell.marked_ns = 1 + below(random, kLongestWaitNs);
  cell.cpu_ns = cell.time_ns / 100;
  cell.mark = WaitKind::mpi;
  return cell;
}

/// Grows a tree with values.
class Growth {
 public:
  Growth(const Frames& frames, const ModelShape& shape, bool worker) : frames_(frames), shape_(shape) {
    const FrameKind root = worker ? FrameKind::thread_root : FrameKind::program_root;
    grow(0, {.kind = root});
  }

  /// Adds about `nodes` nodes below any calls that there are, or with `spine` first some of the full depth.
  void extend(std::size_t nodes, bool spine, Random& random);
  void lack(double share, Random& random);
  [[nodiscard]] ThreadProfile finish() const;

 private:
  NodeId grow(NodeId parent, const FrameKey& frame);
  void end_in_sample(NodeId node, Random& random);
  void step(NodeId node, Random& random);
  FrameKey call(Random& random) const { return frames_.calls[below(random, frames_.calls.size())]; }

  const Frames& frames_;
  const ModelShape& shape_;
  cct::Tree tree_;
  std::vector<std::size_t> depth_{0};
  std::vector<Cell> cells_{Cell{}};  ///< by node; none where all is 0
  std::vector<NodeId> open_;         ///< calls that more may hang below
};

NodeId Growth::grow(NodeId parent, const FrameKey& frame) {
  const NodeId node = tree_.child(parent, frame);
  if (node < depth_.size()) return node;
  depth_.push_back(depth_[parent] + 1);
  cells_.emplace_back();
  if (frame.kind != FrameKind::sample && depth_[node] + 1 < shape_.depth) open_.push_back(node);
  return node;
}

void Growth::end_in_sample(NodeId node, Random& random) {
  if (!frames_.waits.empty() && chance(random, kWaits)) {
    for (const FrameKey& frame : frames_.waits[below(random, frames_.waits.size())]) {
      node = tree_.child(node, frame);
      if (node < depth_.size()) continue;
      depth_.push_back(shape_.depth);  // nothing else hangs below
      cells_.emplace_back();
    }
    cells_[node] = some_wait(random);
    return;
  }
  cells_[grow(node, frames_.samples[below(random, frames_.samples.size())])] =
      some_work(random, frames_.period);
}

void Growth::step(NodeId node, Random& random) {
  while (!chance(random, kLeaves) && depth_[node] + 1 < shape_.depth) node = grow(node, call(random));
  end_in_sample(node, random);
}

void Growth::extend(std::size_t nodes, bool spine, Random& random) {
  const std::size_t end = tree_.size() + nodes;
  for (int i = 0; spine && i < kSpines; ++i) {
    NodeId node = open_[below(random, open_.size())];
    while (depth_[node] + 1 < shape_.depth) node = grow(node, call(random));
    end_in_sample(node, random);
  }
  // Frames may be too few for as many nodes as are wanted.
  for (std::size_t tries = 0; tree_.size() < end && tries < 4 * nodes; ++tries) {
    step(open_[below(random, open_.size())], random);
  }
}

void Growth::lack(double share, Random& random) {
  for (Cell& cell : cells_) {
    if (cell.time_ns != 0 && chance(random, share)) cell = {};
  }
}

/// In pre-order, siblings by frame, without what holds nothing.
ThreadProfile Growth::finish() const {
  const std::span<const cct::Node> nodes = tree_.nodes();
  std::vector<std::vector<NodeId>> children(nodes.size());
  std::vector<bool> holds(nodes.size());
  for (auto id = static_cast<NodeId>(nodes.size()); id-- > 1;) {
    holds[id] = holds[id] || cells_[id].time_ns != 0;
    if (!holds[id]) continue;
    holds[nodes[id].parent] = true;
    children[nodes[id].parent].push_back(id);
  }
  for (auto& siblings : children) {
    std::ranges::sort(siblings, std::ranges::greater(), [&](NodeId id) { return nodes[id].frame; });
  }
  ThreadProfile thread;
  std::vector<NodeId> image(nodes.size());
  std::vector<NodeId> pending{0};
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    image[id] = static_cast<NodeId>(thread.nodes.size());
    thread.nodes.push_back(
        {.frame = nodes[id].frame, .parent = id == 0 ? cct::kNoNode : image[nodes[id].parent]});
    thread.cell.push_back(cct::kNoNode);
    if (cells_[id].time_ns != 0) {
      thread.cell.back() = static_cast<std::uint32_t>(thread.cells.size());
      thread.cells.push_back(cells_[id]);
    }
    pending.insert(pending.end(), children[id].begin(), children[id].end());
  }
  return thread;
}

}  // namespace

ThreadProfile model_thread(const Measurement& source, const ModelShape& shape, std::size_t group,
                           bool worker) {
  const Frames frames(source);
  Growth growth(frames, shape, worker);
  Random core(worker ? 2 : 1);
  Random own(1000 + group);
  const auto own_nodes = static_cast<std::size_t>(static_cast<double>(shape.nodes) * shape.own_share);
  growth.extend(shape.nodes - own_nodes, true, core);
  growth.lack(kLacking, own);
  growth.extend(own_nodes, false, own);
  ThreadProfile thread = growth.finish();
  thread.ordinal = worker ? 1 : 0;
  thread.start_ns = source.process.start_ns;
  thread.end_ns = source.process.end_ns;
  if (worker) thread.start_routine = frames.calls.front();
  return thread;
}

}  // namespace culprit::bench
