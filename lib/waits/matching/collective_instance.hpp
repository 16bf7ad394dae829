#pragma once

#include "measurement/trace_operation.hpp"
#include "storage/hash.hpp"
#include "waits/timeline/event.hpp"

#include <cstddef>
#include <cstdint>

// Instances of collective operations: their keys, and what their kinds make members wait for
// (docs/algorithms.md 7).
namespace culprit::waits {

/// A collective instance: the how many-th on its communicator or window.
struct InstanceKey {
  std::uint64_t context;
  std::uint32_t instance;
  friend bool operator==(const InstanceKey&, const InstanceKey&) = default;
  struct Hash {
    std::size_t operator()(const InstanceKey& key) const {
      return storage::hash_of(key.context, key.instance);
    }
  };
};

/// What an instance of this kind makes its members wait for.
constexpr WaitPattern pattern_of(measurement::trace::OperationKind kind) {
  using enum measurement::trace::OperationKind;
  switch (kind) {
    case barrier:
      return WaitPattern::wait_at_barrier;
    case one_to_all:
      return WaitPattern::late_broadcast;
    case all_to_one:
      return WaitPattern::early_reduce;
    case prefix:
      return WaitPattern::early_scan;
    case initialize:
      return WaitPattern::wait_at_init;
    case finalize:
      return WaitPattern::wait_at_finalize;
    case create:
      return WaitPattern::wait_at_create;
    case free:
      return WaitPattern::wait_at_free;
    case fence:
      return WaitPattern::wait_at_fence;
    default:
      return WaitPattern::wait_at_nxn;
  }
}

/// Whether one member gives to all, or gets from all.
constexpr bool is_rooted(measurement::trace::OperationKind kind) {
  using enum measurement::trace::OperationKind;
  return kind == one_to_all || kind == all_to_one;
}

/// Whether it synchronizes all members, if none leaves it before the last one enters it.
constexpr bool joins_all(measurement::trace::OperationKind kind) {
  return !is_rooted(kind) && kind != measurement::trace::OperationKind::prefix;
}

}  // namespace culprit::waits
