// Propagated cost that reaches the waits of one time line (docs/algorithms.md 8). Explanations of other
// lines' waits name a range of waits here: first announced, then given an amount, which is divided in
// proportion to the waits' lengths. A range is a few nodes of a tree over the waits, sixteen children each. A
// node divides what it got among its children only when one of its waits is passed on; a wait may be passed
// on when nothing is announced to it or the nodes above it. Differences of rounded sums lose no nanosecond.
// Cost: the logarithm of the range's length.
#include "waits/causes/propagated_cost.hpp"

#include "waits/timeline/path_shares.hpp"

#include <algorithm>
#include <utility>

namespace culprit::waits {

/// Calls visit(level, index, its range) for the fewest nodes that make up the range, in order.
template <typename Visit>
void PropagatedCost::for_nodes(const Range& range, Visit visit) {
  for (std::uint32_t at = range.first; at < range.last;) {
    int level = 0;
    while (level < kLevels) {
      const std::uint32_t width = std::uint32_t{1} << (kBits * (level + 1));
      if (at % width != 0 || range.last - at < width) break;
      ++level;
    }
    const std::uint32_t next = at + (std::uint32_t{1} << (kBits * level));
    visit(level, at >> (kBits * level), Range{at, next});
    at = next;
  }
}

void PropagatedCost::announce(const Range& range, std::uint32_t times) {
  for_nodes({range.first, std::min(range.last, top_)},
            [&](int level, std::uint32_t index, const Range& /*waits*/) {
              (level == 0 ? leaf(index).awaited : nodes_[key(level, index)].awaited) += times;
            });
}

std::uint64_t PropagatedCost::give(const Range& range, std::uint64_t ns, std::vector<std::uint32_t>& ready) {
  if (range.first >= range.last) return ns;
  const std::uint64_t begin = sum_before(range.first);
  const std::uint64_t whole = sum_before(range.last) - begin;
  std::uint64_t given = 0, late = 0;
  // What each gets is a difference of rounded sums, so that all of it is given.
  const auto part_until = [&](std::uint32_t wait) {
    const std::uint64_t until = wait == range.last ? ns : share(ns, sum_before(wait) - begin, whole);
    return until - std::exchange(given, until);
  };
  for_nodes({range.first, std::min(range.last, top_)},
            [&](int level, std::uint32_t index, const Range& waits) {
              const std::uint64_t part = part_until(waits.last);
              std::uint32_t awaited = 0;
              if (level == 0) {
                Leaf& one = leaf(index);
                (one.taken ? late : one.ns) += part;
                awaited = --one.awaited;
              } else {
                Node& node = nodes_[key(level, index)];
                (node.divided ? late : node.ns) += part;
                awaited = --node.awaited;
              }
              if (awaited == 0) collect_complete(level, index, ready);
            });
  return late + (ns - given);
}

/// Waits of this round in a node to which nothing more will come.
void PropagatedCost::collect_complete(int level, std::uint32_t index,
                                      std::vector<std::uint32_t>& ready) const {
  const std::uint64_t first = std::uint64_t{index} << (kBits * level);
  const std::uint64_t last = std::min<std::uint64_t>(first + (std::uint64_t{1} << (kBits * level)), top_);
  for (auto wait = static_cast<std::uint32_t>(std::max<std::uint64_t>(first, low_)); wait < last; ++wait) {
    if (!leaf(wait).taken && complete(wait)) ready.push_back(wait);
  }
}

bool PropagatedCost::nodes_complete(std::uint32_t wait) const {
  for (int level = 1; level <= kLevels; ++level) {
    const auto node = nodes_.find(key(level, wait >> (kBits * level)));
    if (node != nodes_.end() && node->second.awaited != 0) return false;
  }
  return true;
}

std::uint64_t PropagatedCost::take(std::uint32_t wait) {
  for (int level = nodes_.empty() ? 0 : kLevels; level > 0; --level) {
    const std::uint32_t index = wait >> (kBits * level);
    const auto found = nodes_.find(key(level, index));
    if (found == nodes_.end() || found->second.divided) continue;
    // Dividing may add nodes: not by reference.
    Node node = found->second;
    divide(level, index, node);
    nodes_[key(level, index)] = node;
  }
  Leaf& one = leaf(wait);
  one.taken = true;
  return one.ns;
}

void PropagatedCost::divide(int level, std::uint32_t index, Node& node) {
  node.divided = true;
  divided_.push_back(key(level, index));
  if (node.ns == 0) return;
  const int below = level - 1;
  const std::uint32_t first = index << (kBits * level);
  const std::uint64_t begin = sum_before(first);
  const std::uint64_t whole = sum_before(first + (std::uint32_t{1} << (kBits * level))) - begin;
  std::uint64_t given = 0;
  for (std::uint32_t child = 0; child < std::uint32_t{1} << kBits; ++child) {
    const std::uint32_t end = first + ((child + 1) << (kBits * below));
    const std::uint64_t until = share(node.ns, sum_before(end) - begin, whole);
    const std::uint64_t part = until - std::exchange(given, until);
    if (part == 0) continue;
    const std::uint32_t at = (index << kBits) + child;
    (below == 0 ? leaf(at).ns : nodes_[key(below, at)].ns) += part;
  }
  node.ns = 0;
}

void PropagatedCost::close() {
  gone_ = std::min<std::size_t>(gone_ + (top_ - low_), leaves_.size());
  // Not one by one: what is left would have to move each time.
  if (gone_ >= leaves_.size() - gone_) {
    leaves_.erase(leaves_.begin(), leaves_.begin() + static_cast<std::ptrdiff_t>(gone_));
    gone_ = 0;
  }
  top_ = low_;
  for (const std::uint64_t node : divided_) nodes_.erase(node);
  divided_.clear();
}

std::uint64_t PropagatedCost::left() const {
  std::uint64_t sum = 0;
  for (std::size_t i = gone_; i < leaves_.size(); ++i) sum += leaves_[i].ns;
  for (const auto& [key, node] : nodes_) sum += node.ns;
  return sum;
}

}  // namespace culprit::waits
