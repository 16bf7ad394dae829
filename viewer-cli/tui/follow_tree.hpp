#pragma once

#include "follow/live_tree.hpp"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace culprit::viewer::tui {

/// A node of a tree that grows, as it was at a look.
struct FollowNode {
  std::uint32_t id = 0;
  std::uint32_t parent = 0;
  std::string name;                ///< with its hottest line
  double interval = 0, whole = 0;  ///< shares of all time
  double wait = 0;                 ///< of its own time in the part that is sorted by
};

/// What of the tree of a run that goes on is open, and in which order: hot nodes are open until the user
/// closes them.
class FollowTree {
 public:
  struct Row {
    const FollowNode* node = nullptr;
    std::uint32_t depth = 0;
    bool opens = false, open = false;
  };
  enum class Order : std::uint8_t { time, waiting, name };

  void take(const follow::LiveTree& tree);
  /// Of the interval, or of the run so far.
  void sort(Order order, bool by_interval);
  void open(std::uint32_t node, bool open);
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  /// Of the node, or of the nearest that is shown above it.
  [[nodiscard]] int row_of(std::uint32_t node) const;

 private:
  void arrange();
  void append(std::uint32_t node, std::uint32_t depth);
  [[nodiscard]] bool before(const FollowNode& a, const FollowNode& b) const;

  std::vector<FollowNode> nodes_;
  std::vector<double> waits_[2];  ///< of the run so far and of the interval
  std::vector<std::vector<std::uint32_t>> children_;
  std::unordered_map<std::uint32_t, bool> chosen_;  ///< opened or closed by the user
  std::vector<Row> rows_;
  Order order_ = Order::time;
  bool by_interval_ = true;
};

}  // namespace culprit::viewer::tui
