#pragma once

#include "storage/hash.hpp"
#include "waits/timeline/trace_store.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <tsl/robin_map.h>

namespace culprit::waits {

/// What is passed on to the waits of one time line, which go backwards. Explanations of other lines' waits
/// name a range of this line's waits: first to say that something will come, then what, which is divided in
/// proportion to the waits' lengths. A range is a few nodes of a tree over the waits, sixteen to one, and
/// what a node got is divided among its waits only when all that it will get is there: a range costs the
/// logarithm of its length.
class PropagatedCost {
 public:
  explicit PropagatedCost(const TimeLine& line)
      : line_(&line), top_(static_cast<std::uint32_t>(line.waits.size())), low_(top_) {}

  /// The waits from `first` to before `last`, as they are numbered on the line.
  struct Range {
    std::uint32_t first = 0, last = 0;
  };

  /// The length of the waits of a range.
  [[nodiscard]] std::uint64_t length(const Range& range) const {
    return range.first >= range.last ? 0 : sum_before(range.last) - sum_before(range.first);
  }

  /// This round's waits are those from `low` on that were not in an earlier round.
  void list(std::uint32_t low) {
    low_ = low;
    leaves_.resize(std::max(leaves_.size(), gone_ + (top_ - low_)));
  }
  /// Something will come to the range's waits, this many times.
  void announce(const Range& range, std::uint32_t times = 1);
  /// It is there. Appends to `ready` the waits of this round to which nothing more will come. Returns what
  /// comes too late: these waits were passed on in an earlier round, or forced.
  std::uint64_t give(const Range& range, std::uint64_t ns, std::vector<std::uint32_t>& ready);
  /// Whether all that will come to a wait of this round is there.
  [[nodiscard]] bool complete(std::uint32_t wait) const {
    return leaf(wait).awaited == 0 && (nodes_.empty() || nodes_complete(wait));
  }
  /// Passes a wait of this round on: what came to it, whether that is all or not.
  std::uint64_t take(std::uint32_t wait);
  [[nodiscard]] bool taken(std::uint32_t wait) const { return wait >= top_ || leaf(wait).taken; }
  /// Ends the round. All of its waits were taken.
  void close();

  /// What was given to waits that never came.
  [[nodiscard]] std::uint64_t left() const;

 private:
  static constexpr int kBits = 4, kLevels = 5;  ///< above the waits themselves; a million waits in one node
  struct Leaf {
    std::uint64_t ns = 0;
    std::uint32_t awaited = 0;
    bool taken = false;
  };
  struct Node {
    std::uint64_t ns = 0;
    std::uint32_t awaited = 0;
    bool divided = false;
  };
  struct Hash {
    std::size_t operator()(std::uint64_t key) const { return storage::hash_of(key); }
  };

  [[nodiscard]] std::uint64_t sum_before(std::uint32_t wait) const {
    return wait == 0 ? 0 : line_->waits[wait - 1].sum_ns;
  }
  static std::uint64_t key(int level, std::uint32_t index) {
    return storage::joined(static_cast<std::uint32_t>(level), index);
  }
  template <typename Visit>
  static void for_nodes(const Range& range, Visit visit);
  Leaf& leaf(std::uint32_t wait) {
    const std::size_t at = place_of(wait);
    if (at >= leaves_.size()) leaves_.resize(at + 1);
    return leaves_[at];
  }
  [[nodiscard]] const Leaf& leaf(std::uint32_t wait) const {
    static constexpr Leaf kNothing{};
    const std::size_t at = place_of(wait);
    return at < leaves_.size() ? leaves_[at] : kNothing;
  }
  [[nodiscard]] std::size_t place_of(std::uint32_t wait) const { return gone_ + (top_ - 1 - wait); }
  [[nodiscard]] bool nodes_complete(std::uint32_t wait) const;
  void divide(int level, std::uint32_t index, Node& node);
  void collect_complete(int level, std::uint32_t index, std::vector<std::uint32_t>& ready) const;

  const TimeLine* line_;
  std::uint32_t top_, low_;   // waits from top_ on belong to earlier rounds, those from low_ on to this one
  std::vector<Leaf> leaves_;  // after those that are gone: of wait top_ - 1, top_ - 2, ...
  std::size_t gone_ = 0;      // those that belong to earlier rounds
  tsl::robin_map<std::uint64_t, Node, Hash> nodes_;
  std::vector<std::uint64_t> divided_;  // in this round
};

}  // namespace culprit::waits
