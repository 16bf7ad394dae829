// Adds up classified waits by call path, pattern and what they were for (docs/algorithms.md 7).
#include "waits/states/wait_sums.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

namespace culprit::waits {

void WaitSums::close(Location location) {
  if (sums_of_line_.empty()) return;
  std::vector<WaitSum>& sums = parts_.emplace_back(Part{location, {}}).sums;
  sums.reserve(sums_of_line_.size());
  for (const auto& [key, amount] : sums_of_line_) {
    sums.push_back(
        {key.pattern, location, key.cause, key.context, key.cause_context, amount.ns, amount.count, 0});
  }
  const auto place = [](const WaitSum& sum) {
    return std::pair(storage::joined(static_cast<std::uint32_t>(sum.pattern), sum.context),
                     storage::joined(sum.cause, sum.cause_context));
  };
  std::sort(sums.begin(), sums.end(),
            [place](const WaitSum& a, const WaitSum& b) { return place(a) < place(b); });
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
  std::vector<std::size_t> next(std::numeric_limits<std::underlying_type_t<WaitPattern>>::max() + 2, 0);
  for (const Part& part : parts_) {
    for (const WaitSum& sum : part.sums) ++next[static_cast<std::size_t>(sum.pattern) + 1];
  }
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<WaitSum> all(next.back());
  for (Part& part : parts_) {
    for (const WaitSum& sum : part.sums) all[next[static_cast<std::size_t>(sum.pattern)]++] = sum;
    part.sums = {};
  }
  return all;
}

}  // namespace culprit::waits
