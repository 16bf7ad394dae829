#pragma once

#include "waits/causes/interval_profile.hpp"
#include "waits/timeline/event.hpp"

#include <cstdint>
#include <functional>
#include <span>

namespace culprit::waits {

/// A wait, and what its waiter and its delayer did since their last synchronization point: seen where the
/// wait was recorded, as long as it is being compared.
struct ComparedWait {
  Location waiter = kNoLocation;
  std::uint32_t waiter_context = 0;  ///< the path of the call that waited
  EventId cause;
  std::uint64_t ns = 0;
  bool first = true;  ///< of those that a collective kept waiting: the longest
  const IntervalProfile& waiter_profile;
  const IntervalProfile& longer;  ///< the regions that took the delayer longer, and how much longer
  std::uint64_t longer_ns = 0;    ///< these together
  std::span<const RegionTime> delayer_samples;
  std::uint32_t synced_region = 0;  ///< the delayer's call that Regions::synced() stands for
};

using CompareObserver = std::function<void(const ComparedWait&)>;

}  // namespace culprit::waits
