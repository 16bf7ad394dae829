#include "tui/follow_tree.hpp"

#include "follow/words.hpp"

#include <algorithm>
#include <tuple>

namespace culprit::viewer::tui {
namespace {

constexpr double kOpenByItself = 0.1;  ///< nodes with such a share are open by themselves
constexpr double kShown = 0.001;       ///< others are left out, in the interval and in the run so far

std::string label(const follow::LiveTree& tree, const follow::LiveTree::Node& node) {
  const follow::Code& code = tree.code();
  std::string text = follow::short_name(code.procedures()[node.procedure].name);
  const auto hotter = [](const follow::LiveTree::Line& a, const follow::LiveTree::Line& b) {
    return std::tie(a.interval_ns, a.whole_ns) < std::tie(b.interval_ns, b.whole_ns);
  };
  const auto line = std::ranges::max_element(node.lines, hotter);
  if (line == node.lines.end() || line->whole_ns <= 0) return text;
  const std::string place = follow::line_in_words(code, line->file, line->line);
  return place.empty() ? text : text + " at " + place;
}

/// What every main thread begins with.
bool is_start_up(const std::string& name) {
  return name == "<program root>" || name == "_start" || name.starts_with("__libc_start_");
}

double share(std::int64_t part, std::int64_t whole) {
  return whole <= 0 || part <= 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

void FollowTree::take(const follow::LiveTree& tree) {
  const std::vector<follow::NodeTime> interval = tree.inclusive(true), whole = tree.inclusive(false);
  nodes_.clear();
  children_.assign(tree.nodes().size(), {});
  for (auto& waits : waits_) waits.assign(tree.nodes().size(), 0);
  std::vector<std::uint32_t> stands_for(tree.nodes().size());
  for (std::uint32_t i = 0; i < tree.nodes().size(); ++i) {
    stands_for[i] = i;
    const follow::LiveTree::Node& node = tree.nodes()[i];
    const double now = share(interval[i].time, interval[0].time), all = share(whole[i].time, whole[0].time);
    const bool shown = now >= kShown || all >= kShown;
    nodes_.push_back({.id = i,
                      .parent = node.parent,
                      .name = shown ? label(tree, node) : "",
                      .interval = now,
                      .whole = all});
    waits_[0][i] = share(whole[i].wait, whole[i].time);
    waits_[1][i] = share(interval[i].wait, interval[i].time);
    if (i == 0) continue;
    if (is_start_up(tree.code().procedures()[node.procedure].name)) {
      stands_for[i] = stands_for[node.parent];  // its children stand in its place
    } else if (shown) {
      nodes_.back().parent = stands_for[node.parent];
      children_[nodes_.back().parent].push_back(i);
    }
  }
  arrange();
}

bool FollowTree::before(const FollowNode& a, const FollowNode& b) const {
  const auto key = [this](const FollowNode& node) {
    const double time = by_interval_ ? node.interval : node.whole;
    const double other = by_interval_ ? node.whole : node.interval;
    if (order_ == Order::name) return std::tuple(0.0, 0.0);
    return order_ == Order::waiting ? std::tuple(-time * node.wait, -time) : std::tuple(-time, -other);
  };
  return std::tuple(key(a), a.name, a.id) < std::tuple(key(b), b.name, b.id);
}

void FollowTree::arrange() {
  for (FollowNode& node : nodes_) node.wait = std::min(1.0, waits_[by_interval_ ? 1 : 0][node.id]);
  for (auto& children : children_)
    std::ranges::sort(children,
                      [this](std::uint32_t a, std::uint32_t b) { return before(nodes_[a], nodes_[b]); });
  rows_.clear();
  if (nodes_.empty()) return;
  for (const std::uint32_t child : children_[0]) append(child, 0);
}

void FollowTree::append(std::uint32_t first, std::uint32_t depth) {
  struct Pending {
    std::uint32_t node, depth;
  };
  std::vector<Pending> pending = {{first, depth}};
  while (!pending.empty()) {
    const Pending next = pending.back();
    pending.pop_back();
    const FollowNode& node = nodes_[next.node];
    const auto& children = children_[next.node];
    const auto chosen = chosen_.find(next.node);
    const bool hot = (by_interval_ ? node.interval : node.whole) >= kOpenByItself;
    const bool open = !children.empty() && (chosen == chosen_.end() ? hot : chosen->second);
    rows_.push_back({.node = &node, .depth = next.depth, .opens = !children.empty(), .open = open});
    if (!open) continue;
    for (std::size_t i = children.size(); i-- > 0;) pending.push_back({children[i], next.depth + 1});
  }
}

void FollowTree::sort(Order order, bool by_interval) {
  order_ = order;
  by_interval_ = by_interval;
  arrange();
}

void FollowTree::open(std::uint32_t node, bool open) {
  chosen_[node] = open;
  arrange();
}

int FollowTree::row_of(std::uint32_t node) const {
  while (node < nodes_.size()) {
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      if (rows_[row].node->id == node) return static_cast<int>(row);
    }
    if (node == 0) break;
    node = nodes_[node].parent;
  }
  return 0;
}

}  // namespace culprit::viewer::tui
