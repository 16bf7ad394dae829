// What was counted of other events in each segment outside MPI calls (docs/algorithms.md 9), as SOS-times
// leave them out. A reading says what was counted since the one before, not when: it is spread evenly over
// that time, and each stretch without a call gets its part. The call path of a reading counts where no call
// lies between. Cost: linear in readings and calls.
#include "waits/variation/segment_values.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace culprit::waits {

namespace {

/// A stretch of a segment without MPI calls.
struct Stretch {
  std::uint64_t begin_ns = 0, end_ns = 0;
  std::size_t segment = 0;
};

/// The stretches of all segments of a time line, in the order of time.
class Stretches {
 public:
  Stretches(const TimeLine& line, const std::vector<Segment>& segments)
      : events_(line.events), segments_(segments) {}

  /// False: there are no more.
  bool next(Stretch& stretch) {
    while (segment_ < segments_.size()) {
      const Segment& segment = segments_[segment_];
      at_ = std::max(at_, segment.begin_ns);
      if (at_ >= segment.end_ns) {
        ++segment_;
        continue;
      }
      const std::uint64_t until = std::min(segment.end_ns, next_call());
      if (until <= at_) continue;  // a call begins here, behind which it goes on
      stretch = {at_, until, segment_};
      at_ = until;
      return true;
    }
    return false;
  }

 private:
  /// When the next call begins; what has begun is passed over.
  std::uint64_t next_call() {
    for (; event_ < events_.size(); ++event_) {
      const Event event = events_[event_];
      if (event.enter_ns > at_) return event.enter_ns;
      if (event.exit_ns > at_) {
        at_ = event.exit_ns;
        ++event_;
        return 0;
      }
    }
    return TimeLine::kNever;
  }

  const storage::Sequence<Event>& events_;
  const std::vector<Segment>& segments_;
  std::size_t segment_ = 0, event_ = 0;
  std::uint64_t at_ = 0;
};

/// Divides the readings of one event among segments.
class ReadingDivision {
 public:
  ReadingDivision(const TimeLine& line, const std::vector<Segment>& segments)
      : stretches_(line, segments), sums_(segments.size(), 0), contexts_(segments.size(), CallPaths::kNone) {
    // What the first reading shows was counted since the program began, nearly.
    if (!line.events.empty()) since_ns_ = line.events.front().enter_ns;
    more_ = stretches_.next(stretch_);
  }

  /// Readings come in the order of time.
  void add(const Reading& reading) {
    const std::uint64_t since = std::min(since_ns_, reading.ns);
    since_ns_ = reading.ns;
    const double value = before_ + static_cast<double>(reading.value);
    before_ = since == reading.ns ? value : 0;  // no time has passed: the next one has it
    if (since == reading.ns) return;
    while (more_ && stretch_.end_ns <= since) more_ = stretches_.next(stretch_);
    while (more_ && stretch_.begin_ns < reading.ns) {
      const std::uint64_t begin = std::max(stretch_.begin_ns, since);
      const std::uint64_t end = std::min(stretch_.end_ns, reading.ns);
      const double part = value * static_cast<double>(end - begin) / static_cast<double>(reading.ns - since);
      sums_[stretch_.segment] += part;
      // Read behind a call, it says where the program is now, not where it was before the call.
      if (stretch_.end_ns >= reading.ns) add(stretch_.segment, reading.context, part);
      if (stretch_.end_ns > reading.ns) break;
      more_ = stretches_.next(stretch_);
    }
  }

  RowValues take() {
    close_segment();
    RowValues found{.values = {}, .contexts = std::move(contexts_)};
    found.values.reserve(sums_.size());
    for (const double sum : sums_) found.values.push_back(static_cast<std::uint64_t>(std::llround(sum)));
    return found;
  }

 private:
  /// Segments come in their order.
  void add(std::size_t segment, std::uint32_t context, double value) {
    if (segment != segment_) close_segment();
    segment_ = segment;
    by_context_[context] += value;
  }
  void close_segment() {
    double most = 0;
    for (const auto& [context, value] : by_context_) {
      if (value <= most) continue;
      most = value;
      contexts_[segment_] = context;
    }
    by_context_.clear();
  }

  Stretches stretches_;
  Stretch stretch_;
  bool more_ = false;
  std::uint64_t since_ns_ = 0;
  double before_ = 0;
  std::vector<double> sums_;
  std::size_t segment_ = 0;                     // that is being gone through
  std::map<std::uint32_t, double> by_context_;  // what was counted in it
  std::vector<std::uint32_t> contexts_;         // by segment
};

}  // namespace

SegmentValues segment_values(const RankMap& rank_map, const Matched& matched, const Variation& found,
                             std::size_t events) {
  SegmentValues values;
  values.reserve(found.rows.size());
  for (std::size_t row = 0; row < found.rows.size(); ++row) {
    const TimeLine& line = matched.store.line(rank_map.location_of(found.ranks[row], 0));
    std::vector<ReadingDivision> divisions(events, ReadingDivision(line, found.rows[row]));
    for (const Reading& reading : line.readings) {
      if (reading.event < events) divisions[reading.event].add(reading);
    }
    std::vector<RowValues>& of_row = values.emplace_back();
    of_row.reserve(events);
    for (ReadingDivision& division : divisions) of_row.push_back(division.take());
  }
  return values;
}

}  // namespace culprit::waits
