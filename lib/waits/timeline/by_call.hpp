#pragma once

#include "storage/sequence.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace culprit::waits {

/// Items of one time line that come in no order and are taken in the order of the calls that they belong to
/// (`event`), some thousand calls at a time: what has to be sorted together then fits into memory.
template <typename Item>
class ByCall {
 public:
  explicit ByCall(storage::Spill& spill)
      : spill_(&spill), shift_(std::countr_zero(spill.options().calls_sorted_together)) {}

  void add(const Item& item) { place(item.event) = item; }
  void clear() { parts_.clear(); }
  [[nodiscard]] std::size_t parts() const { return parts_.size(); }
  /// Those of the `part`-th this many calls, in their order, into `items`; among those of one call
  /// `earlier(a, b)` decides. They are given away.
  template <typename Earlier>
  void take(std::size_t part, std::vector<Item>& items, Earlier earlier) {
    if (part >= parts_.size()) return items.clear();
    const storage::Sequence<Item>& found = parts_[part];
    // Sorted by counting: most calls have a few items each.
    const auto base = static_cast<std::uint32_t>(part << shift_);
    std::vector<std::uint32_t> next(2, 0);
    std::uint32_t calls = 0;  // up to the last one that has an item
    found.for_each([&](const Item& item) {
      const std::uint32_t behind = item.event - base + 1;
      if (behind >= next.size()) next.resize(std::bit_ceil(behind + 1), 0);
      ++next[behind];
      calls = std::max(calls, behind);
    });
    for (std::size_t call = 0; call < calls; ++call) next[call + 1] += next[call];
    items.resize(found.size());
    found.for_each([&](const Item& item) { items[next[item.event - base]++] = item; });
    for (auto first = items.begin(); first != items.end();) {
      const auto last =
          std::find_if(first, items.end(), [&first](const Item& one) { return one.event != first->event; });
      if (last - first > 1) std::sort(first, last, earlier);
      first = last;
    }
    parts_[part].clear();
  }

 private:
  /// Where one more of the call goes.
  Item& place(std::uint32_t event) {
    const std::size_t at = event >> shift_;
    while (parts_.size() <= at) parts_.emplace_back(*spill_);
    return parts_[at].extend();
  }

  storage::Spill* spill_;
  int shift_;
  std::vector<storage::Sequence<Item>> parts_;
};

}  // namespace culprit::waits
