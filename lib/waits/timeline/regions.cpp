// Numbers the regions of all time lines in their order (docs/algorithms.md 8), the same on all ranks of the
// analysis: one exchange of those that occur on each, and a sort.
#include "waits/timeline/regions.hpp"

#include "exchange/message_exchange.hpp"

#include <algorithm>

namespace culprit::waits {

Regions::Regions(exchange::Communicator& analysis, const RegionNumbers& own) {
  constexpr Region kSynced{Region::kSynced, Region::kCall};
  std::vector<Region> found = own.regions();
  found.push_back(kSynced);
  // Every call is the end of a gap.
  for (const Region& gap : own.regions()) found.push_back({gap.next, Region::kCall});
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  all_ = exchange::items_of_all<Region>(analysis, found);
  std::sort(all_.begin(), all_.end());
  all_.erase(std::unique(all_.begin(), all_.end()), all_.end());
  const auto number = [this](const Region& region) {
    return static_cast<std::uint32_t>(std::lower_bound(all_.begin(), all_.end(), region) - all_.begin());
  };
  synced_ = number(kSynced);
  for (const Region& gap : own.regions()) {
    of_gap_.push_back(number(gap));
    if (gap.next >= of_call_.size()) of_call_.resize(gap.next + 1, 0);
    of_call_[gap.next] = number({gap.next, Region::kCall});
  }
}

}  // namespace culprit::waits
