#pragma once

#include <cstdint>
#include <vector>

namespace culprit::waits {

/// Many short queues of one sort of item in one piece of memory, which is used again: most have at most one
/// item at a time, and there may be millions.
template <typename Item>
class QueuePool {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// One queue. It belongs to the pool that filled it, which must be used for all of it.
  struct Queue {
    std::uint32_t first = kNone, last = kNone;
    [[nodiscard]] bool empty() const { return first == kNone; }
  };

  void push(Queue& queue, const Item& item) {
    std::uint32_t at = free_;
    if (at == kNone) {
      at = static_cast<std::uint32_t>(nodes_.size());
      nodes_.emplace_back();
    } else {
      free_ = nodes_[at].next;
    }
    nodes_[at].item = item;
    nodes_[at].next = kNone;
    (queue.empty() ? queue.first : nodes_[queue.last].next) = at;
    queue.last = at;
  }
  [[nodiscard]] const Item& front(const Queue& queue) const { return nodes_[queue.first].item; }
  void pop(Queue& queue) {
    const std::uint32_t at = queue.first;
    queue.first = nodes_[at].next;
    if (queue.first == kNone) queue.last = kNone;
    nodes_[at].next = free_;
    free_ = at;
  }
  template <typename Visit>
  void visit(const Queue& queue, Visit visit) const {
    for (std::uint32_t at = queue.first; at != kNone; at = nodes_[at].next) visit(nodes_[at].item);
  }

 private:
  struct Node {
    Item item;
    std::uint32_t next = kNone;
  };
  std::vector<Node> nodes_;
  std::uint32_t free_ = kNone;
};

}  // namespace culprit::waits
