#pragma once

#include "storage/hash.hpp"
#include "waits/matching/contexts.hpp"
#include "waits/timeline/event.hpp"
#include "waits/timeline/roster.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tsl/robin_map.h>

namespace culprit::waits {

/// Whom a time line met last, while one goes along it.
class LastMeetings {
 public:
  LastMeetings(const Contexts& contexts, const Roster& roster) : contexts_(contexts), roster_(roster) {}

  /// What lies before the next wait, each in the order of calls.
  void met(const Awaited& awaited);
  void met(const Attendance& attendance);
  /// The next wait, with which the two meet again: where its synchronization interval begins.
  IntervalStart meet(const Wait& wait);

 private:
  struct Attended {
    Attendance last;
    std::uint32_t context = View::kUnknown;
  };
  struct Hash {
    std::size_t operator()(std::uint64_t key) const { return storage::hash_of(key); }
  };
  const Contexts& contexts_;
  const Roster& roster_;
  tsl::robin_map<Location, IntervalStart, Hash> met_;
  std::vector<Attended> attended_;  // by communicator or window, the latest first
};

}  // namespace culprit::waits
