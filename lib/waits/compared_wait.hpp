#pragma once

#include "waits/compared_line.hpp"
#include "waits/event.hpp"
#include "waits/interval_profile.hpp"

#include <cstdint>
#include <functional>

namespace culprit::waits {

/// A wait, and what its waiter and its causer did since they last met: seen where its cause was recorded, as
/// long as it is being compared.
struct ComparedWait {
  Location waiter = kNoLocation;
  std::uint32_t waiter_context = 0;  ///< the path of the call that waited
  EventId cause;
  std::uint64_t ns = 0;
  bool first = true;  ///< of those that a collective kept waiting: the longest
  const IntervalProfile& waiter_profile;
  const IntervalProfile& causer_profile;
  const ComparedLine& causer;
  const Interval& causer_interval;

  /// How much longer the piece took the causer.
  [[nodiscard]] std::uint64_t longer(std::uint32_t piece) const {
    const std::uint64_t ns_of_causer = causer_profile.of(piece), ns_of_waiter = waiter_profile.of(piece);
    return ns_of_causer > ns_of_waiter ? ns_of_causer - ns_of_waiter : 0;
  }
};

using CompareObserver = std::function<void(const ComparedWait&)>;

}  // namespace culprit::waits
