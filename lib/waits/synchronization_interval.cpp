#include "waits/synchronization_interval.hpp"

#include <algorithm>

namespace culprit::waits {

namespace {

/// Whom a time line met last, while one goes along it.
class LastMeetings {
 public:
  LastMeetings(const TimeLine& line, const Contexts& contexts, const Roster& roster)
      : line_(line), contexts_(contexts), roster_(roster) {}

  void go_to(std::uint32_t event) {
    for (; meeting_ < line_.meetings.size() && line_.meetings[meeting_].event < event; ++meeting_) {
      const Meeting& met = line_.meetings[meeting_];
      std::vector<Met>& with = met_[met.other.location];
      if (with.size() == kRemembered) with.erase(with.begin());
      with.push_back({met.event, met.other.index});
    }
    for (; attendance_ < line_.attendances.size() && line_.attendances[attendance_].event < event;
         ++attendance_) {
      const Attendance& attended = line_.attendances[attendance_];
      attended_[attended.context] = attended;
    }
  }

  [[nodiscard]] IntervalStart with(EventId cause) const {
    IntervalStart start;
    const auto met = met_.find(cause.location);
    if (met != met_.end()) {
      const auto last = std::find_if(met->second.rbegin(), met->second.rend(),
                                     [&cause](const Met& one) { return one.other < cause.index; });
      if (last != met->second.rend()) {
        start.own = last->own;
        start.other = last->other;
      }
    }
    const std::int32_t rank = roster_.rank_of(cause.location);
    for (const auto& [id, attended] : attended_) {
      if (start.own != IntervalStart::kBeginning && attended.event <= start.own) continue;
      const std::optional<std::uint32_t> context = contexts_.find(id);
      if (!context || !contexts_.shared(*context).members.contains(rank)) continue;
      start = {.own = attended.event, .other = 0, .context = id, .instance = attended.instance};
    }
    return start;
  }

 private:
  struct Met {
    std::uint32_t own, other;
  };
  /// The cause itself may have been met already: an exposure by MPI_Win_start, of which MPI_Win_complete
  /// waits.
  static constexpr std::size_t kRemembered = 2;

  const TimeLine& line_;
  const Contexts& contexts_;
  const Roster& roster_;
  std::size_t meeting_ = 0, attendance_ = 0;
  std::unordered_map<Location, std::vector<Met>> met_;  // by whom: the last ones
  std::unordered_map<std::uint64_t, Attendance> attended_;
};

}  // namespace

std::vector<IntervalStart> interval_starts(const TimeLine& line, const Contexts& contexts,
                                           const Roster& roster) {
  std::vector<IntervalStart> starts;
  starts.reserve(line.waits.size());
  LastMeetings last(line, contexts, roster);
  for (const Wait& wait : line.waits) {
    last.go_to(wait.event);
    starts.push_back(last.with(wait.cause));
  }
  return starts;
}

std::vector<std::uint64_t> wait_by_call(const TimeLine& line) {
  std::vector<std::uint64_t> waits(line.events.size(), 0);
  for (const Wait& wait : line.waits) {
    if (is_wait(wait.pattern)) waits[wait.event] = wait.ns;
  }
  return waits;
}

std::vector<PieceTime> profile(const TimeLine& line, std::span<const std::uint64_t> wait_of,
                               std::uint32_t after, std::uint32_t until) {
  std::vector<PieceTime> times;
  const std::vector<Event>& events = line.events;
  const std::uint32_t first = after == IntervalStart::kBeginning ? 0 : after + 1;
  const auto add_call = [&](std::uint32_t call, std::uint32_t path) {
    const std::uint64_t duration = events[call].exit_ns - events[call].enter_ns;
    if (duration <= wait_of[call]) return;
    times.push_back(
        {.piece = {path, Piece::kCall}, .context = PieceTime::kWhole, .ns = duration - wait_of[call]});
  };
  auto sample = std::lower_bound(line.samples.begin(), line.samples.end(), first,
                                 [](const Sample& one, std::uint32_t gap) { return one.gap < gap; });
  if (first != 0 && after < until) add_call(after, Piece::kMet);
  for (std::uint32_t i = first; i <= until && i < events.size(); ++i) {
    const Piece gap{i == 0 ? Piece::kStart : events[i - 1].context, events[i].context};
    if (i > 0 && events[i].enter_ns > events[i - 1].exit_ns) {
      times.push_back(
          {.piece = gap, .context = PieceTime::kWhole, .ns = events[i].enter_ns - events[i - 1].exit_ns});
      for (; sample != line.samples.end() && sample->gap == i; ++sample) {
        times.push_back({.piece = gap, .context = sample->context, .ns = sample->ns});
      }
    }
    while (sample != line.samples.end() && sample->gap <= i) ++sample;
    if (i < until) add_call(i, events[i].context);
  }
  const auto key = [](const PieceTime& time) { return std::pair(time.piece, time.context); };
  std::sort(times.begin(), times.end(),
            [key](const PieceTime& a, const PieceTime& b) { return key(a) < key(b); });
  auto sum = times.begin();
  for (auto time = times.begin(); time != times.end(); ++time) {
    if (time == times.begin()) continue;
    if (key(*time) == key(*sum)) {
      sum->ns += time->ns;
    } else {
      *++sum = *time;
    }
  }
  if (!times.empty()) times.erase(sum + 1, times.end());
  return times;
}

std::vector<PieceTime> longer(std::span<const PieceTime> times, std::span<const PieceTime> other) {
  std::vector<PieceTime> excess;
  auto theirs = other.begin();
  const auto key = [](const PieceTime& time) { return std::pair(time.piece, time.context); };
  for (const PieceTime& time : times) {
    if (time.context != PieceTime::kWhole) continue;
    while (theirs != other.end() && key(*theirs) < key(time)) ++theirs;
    const std::uint64_t less = theirs != other.end() && key(*theirs) == key(time) ? theirs->ns : 0;
    if (time.ns > less)
      excess.push_back({.piece = time.piece, .context = PieceTime::kWhole, .ns = time.ns - less});
  }
  return excess;
}

}  // namespace culprit::waits
