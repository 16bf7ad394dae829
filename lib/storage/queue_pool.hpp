#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace culprit::storage {

/// Many short queues of one sort of item in some large chunks of memory, which are used again: most have at
/// most one item at a time, and there may be millions.
template <typename Item>
class QueuePool {
  static_assert(std::is_trivially_destructible_v<Item>);

 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// One queue. It belongs to the pool that filled it, which must be used for all of it.
  struct Queue {
    std::uint32_t first = kNone, last = kNone;
    [[nodiscard]] bool empty() const { return first == kNone; }
  };

  /// Of all queues together.
  [[nodiscard]] std::size_t size() const { return size_; }
  void push(Queue& queue, const Item& item) {
    const std::uint32_t at = place();
    node(at) = {.item = item, .next = kNone};
    (queue.empty() ? queue.first : node(queue.last).next) = at;
    queue.last = at;
    ++size_;
  }
  /// Calls `visit(item)` for each item of one queue, in order.
  template <typename Visit>
  void for_each(const Queue& queue, Visit visit) const {
    for (std::uint32_t at = queue.first; at != kNone; at = node(at).next) visit(node(at).item);
  }
  [[nodiscard]] const Item& front(const Queue& queue) const { return node(queue.first).item; }
  void pop(Queue& queue) {
    free_.push_back(queue.first);
    queue.first = node(queue.first).next;
    --size_;
    if (queue.first == kNone) queue.last = kNone;
  }

 private:
  struct Node {
    Item item;
    std::uint32_t next = kNone;
  };
  /// Nodes in a chunk, two to the power of this: growing moves none of them.
  static constexpr int kBits = 13;

  [[nodiscard]] Node& node(std::uint32_t at) { return chunks_[at >> kBits][at & ((1U << kBits) - 1)]; }
  [[nodiscard]] const Node& node(std::uint32_t at) const {
    return chunks_[at >> kBits][at & ((1U << kBits) - 1)];
  }
  /// Where one more goes.
  std::uint32_t place() {
    if (free_.empty()) return add_node();
    const std::uint32_t at = free_.back();
    free_.pop_back();
    return at;
  }
  std::uint32_t add_node() {
    if (chunks_.empty() || chunks_.back().size() == std::size_t{1} << kBits)
      chunks_.emplace_back().reserve(std::size_t{1} << kBits);
    chunks_.back().emplace_back();
    return nodes_++;
  }

  std::vector<std::vector<Node>> chunks_;
  std::uint32_t nodes_ = 0;
  std::vector<std::uint32_t> free_;  // not in a list through the nodes: those are in no cache any more
  std::size_t size_ = 0;
};

}  // namespace culprit::storage
