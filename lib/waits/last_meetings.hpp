#pragma once

#include "waits/contexts.hpp"
#include "waits/event.hpp"
#include "waits/hash.hpp"
#include "waits/roster.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tsl/robin_map.h>

namespace culprit::waits {

/// The last two times that a time line met another one, as calls of both; the cause of a wait may itself have
/// been met already (an exposure by MPI_Win_start, of which MPI_Win_complete waits).
struct LastTwo {
  struct Calls {
    std::uint32_t own, other;
  };
  Calls last = {IntervalStart::kBeginning, IntervalStart::kBeginning};
  Calls before = {IntervalStart::kBeginning, IntervalStart::kBeginning};
};

/// Whom a time line met last, while one goes along it: where the synchronization intervals (algorithms.md 8)
/// of its waits begin.
class LastMeetings {
 public:
  LastMeetings(const Contexts& contexts, const Roster& roster) : contexts_(contexts), roster_(roster) {}

  /// What lies before the next wait, each in the order of calls.
  void met(const Meeting& meeting) {
    LastTwo& with = met_[meeting.other.location];
    with.before = with.last;
    with.last = {meeting.event, meeting.other.index};
  }
  void attended(const Attendance& attendance);
  /// Where the interval of a wait that is next now begins.
  [[nodiscard]] IntervalStart with(EventId cause) const;

 private:
  struct Attended {
    Attendance last;
    std::uint32_t context = View::kUnknown;
  };
  struct Hash {
    std::size_t operator()(std::uint64_t key) const { return hash_of(key); }
  };
  const Contexts& contexts_;
  const Roster& roster_;
  tsl::robin_map<Location, LastTwo, Hash> met_;
  std::vector<Attended> attended_;  // by communicator or window, the latest first
};

}  // namespace culprit::waits
