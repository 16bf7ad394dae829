#pragma once

#include "storage/hash.hpp"
#include "waits/matching/contexts.hpp"
#include "waits/timeline/event.hpp"
#include "waits/timeline/rank_map.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tsl/robin_map.h>

namespace culprit::waits {

/// The last synchronization points of a time line with each other one, while one goes along it.
class SynchronizationPoints {
 public:
  SynchronizationPoints(const Contexts& contexts, const RankMap& rank_map)
      : contexts_(contexts), rank_map_(rank_map) {}

  /// What lies before the next wait, each in the order of calls.
  void add(const Awaited& awaited);
  void add(const CollectiveInstance& instance);
  /// The next wait, with whose end the two synchronize again: where its synchronization interval begins.
  IntervalStart synchronize(const Wait& wait);

 private:
  struct LastInstance {
    CollectiveInstance last;
    std::uint32_t context = View::kUnknown;
  };
  struct Hash {
    std::size_t operator()(std::uint64_t key) const { return storage::hash_of(key); }
  };
  const Contexts& contexts_;
  const RankMap& rank_map_;
  tsl::robin_map<Location, IntervalStart, Hash> last_;
  std::vector<LastInstance> instances_;  // by communicator or window, the latest first
};

}  // namespace culprit::waits
