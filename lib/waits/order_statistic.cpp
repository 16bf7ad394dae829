#include "waits/order_statistic.hpp"

#include <algorithm>
#include <bit>

namespace culprit::waits {

namespace {

/// A value from `low` to before `high` that divides them: by their magnitudes first, since a few are often
/// far larger than all others.
std::uint64_t between(std::uint64_t low, std::uint64_t high) {
  const auto low_bits = std::bit_width(low), high_bits = std::bit_width(high);
  if (high_bits > low_bits + 1) return (std::uint64_t{1} << ((low_bits + high_bits) / 2)) - 1;
  return low + (high - low) / 2;
}

}  // namespace

std::uint64_t order_statistic(exchange::Communicator& analysis, std::vector<std::uint64_t>& values,
                              std::uint64_t place) {
  auto first = values.begin(), last = values.end();
  const auto least = std::min_element(first, last), most = std::max_element(first, last);
  std::uint64_t low = ~analysis.all_max(least == last ? 0 : ~*least);
  std::uint64_t high = analysis.all_max(most == last ? 0 : *most);
  // What is looked for lies from `low` to `high`, at `place` among the values that do; here from `first` on.
  for (int round = 0; low < high; ++round) {
    // One of the values divides them about equally, however they lie, but perhaps badly: by turns.
    const std::uint64_t one = analysis.all_max(first == last ? 0 : first[(last - first) / 2]);
    const std::uint64_t middle = round % 2 == 0 ? std::clamp(one, low, high - 1) : between(low, high);
    const auto above = std::partition(first, last, [middle](std::uint64_t value) { return value <= middle; });
    const std::uint64_t below = analysis.all_sum(static_cast<std::uint64_t>(above - first));
    if (place < below) {
      last = above;
      high = middle;
    } else {
      place -= below;
      first = above;
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace culprit::waits
