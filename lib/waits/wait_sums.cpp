#include "waits/wait_sums.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <type_traits>

namespace culprit::waits {

namespace {

bool comes_before(const WaitSum& a, const WaitSum& b) {
  return std::tuple(a.pattern, a.context, a.cause, a.cause_context) <
         std::tuple(b.pattern, b.context, b.cause, b.cause_context);
}

}  // namespace

void WaitSums::close(Location location) {
  if (sums_of_line_.empty()) return;
  const std::size_t first = sums_.size();
  for (const auto& [key, amount] : sums_of_line_) {
    sums_.push_back(
        {key.pattern, location, key.cause, key.context, key.cause_context, amount.ns, amount.count});
  }
  std::sort(sums_.begin() + static_cast<std::ptrdiff_t>(first), sums_.end(), comes_before);
  parts_.push_back({location, first, sums_.size()});
  // Emptying a table takes as long as it once was.
  if (sums_of_line_.bucket_count() > kWide * sums_of_line_.size()) {
    sums_of_line_ = {};
  } else {
    sums_of_line_.clear();
  }
}

/// By pattern, and of each pattern by time line: the parts need not be sorted again.
std::vector<WaitSum> WaitSums::take() {
  std::sort(parts_.begin(), parts_.end(),
            [](const Part& a, const Part& b) { return a.location < b.location; });
  std::vector<std::size_t> next(std::numeric_limits<std::underlying_type_t<Pattern>>::max() + 2, 0);
  for (const WaitSum& sum : sums_) ++next[static_cast<std::size_t>(sum.pattern) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<WaitSum> all(sums_.size());
  for (const Part& part : parts_) {
    for (std::size_t i = part.first; i < part.last; ++i)
      all[next[static_cast<std::size_t>(sums_[i].pattern)]++] = sums_[i];
  }
  return all;
}

}  // namespace culprit::waits
