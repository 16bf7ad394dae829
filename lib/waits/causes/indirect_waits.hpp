#pragma once

#include "storage/hash.hpp"
#include "waits/causes/delay_costs.hpp"
#include "waits/states/wait_sums.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tsl/robin_map.h>

namespace culprit::waits {

/// Divides sums of waits into direct waiting, whose delayer did not itself wait, and indirect waiting, which
/// the delayer's own waits passed on (Böhme 2010; docs/algorithms.md 8), while cost propagation compares the
/// waits one by one.
class IndirectWaits {
 public:
  /// A wait that was recorded here (DelayOptions::observer).
  void add(const ComparedWait& wait);
  /// When all were added: sets WaitSum::indirect_ns. The sums are of the same waits.
  void set(std::vector<WaitSum>& sums) const;

 private:
  /// What WaitSum distinguishes.
  struct Key {
    Location location = 0, cause = 0;
    std::uint32_t context = 0, cause_context = 0;
    WaitPattern pattern = WaitPattern::none;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return storage::hash_of(
          storage::joined(key.location, key.cause),
          storage::joined(key.context, key.cause_context) + static_cast<std::uint64_t>(key.pattern));
    }
  };

  tsl::robin_map<Key, std::uint64_t, KeyHash> indirect_ns_;  // where it is not 0
};

}  // namespace culprit::waits
