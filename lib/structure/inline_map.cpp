#include "structure/inline_map.hpp"

#include <algorithm>

namespace culprit::structure {

InlineMap::InlineMap(const std::vector<Inlined>& inlined) : inlined_(inlined) {
  for (const Inlined& instance : inlined)
    for (const Range& range : instance.ranges) {
      starts_.push_back(range.low);
      starts_.push_back(range.high);
    }
  std::ranges::sort(starts_);
  starts_.erase(std::unique(starts_.begin(), starts_.end()), starts_.end());
  instances_.assign(starts_.size(), kNone);
  // Parents come first, so that inner instances overwrite their part.
  for (std::uint32_t i = 0; i < inlined.size(); ++i)
    for (const Range& range : inlined[i].ranges) {
      const auto first = std::ranges::lower_bound(starts_, range.low) - starts_.begin();
      const auto last = std::ranges::lower_bound(starts_, range.high) - starts_.begin();
      std::fill(instances_.begin() + first, instances_.begin() + last, i);
    }
}

std::uint32_t InlineMap::find(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(starts_, address);
  return after == starts_.begin() ? kNone : instances_[static_cast<std::size_t>(after - starts_.begin()) - 1];
}

std::vector<std::uint32_t> InlineMap::chain(std::uint32_t instance) const {
  std::vector<std::uint32_t> chain;
  for (; instance != kNone; instance = inlined_[instance].parent) chain.push_back(instance);
  std::ranges::reverse(chain);
  return chain;
}

bool InlineMap::within(std::uint32_t inner, std::uint32_t outer) const {
  if (outer == kNone) return true;
  while (inner != kNone && inner > outer) inner = inlined_[inner].parent;
  return inner == outer;
}

}  // namespace culprit::structure
