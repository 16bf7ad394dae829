// Variation of run time over ranks and time (Weber 2016; docs/algorithms.md 9). Divides each rank's first
// time line into segments: iterations that the program marked, else invocations of the dominant procedure, by
// the stamps of regions, else inferred from the recurrence of its first MPI call path. The SOS-time of a
// segment is its duration without its MPI calls, and without what the thread waited for others of its
// process; of a region of OpenMP the longest of its threads counts. Outliers lie more than five scaled median
// absolute deviations above the median of all ranks' segments, without the last of each rank where nobody
// knows its end. Cost: linear in recurring calls and segments, plus two order statistics over all ranks
// (order_statistic.cpp).
#include "waits/variation/variation.hpp"

#include "exchange/order_statistic.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace culprit::waits {

namespace {

/// How many scaled median absolute deviations above the median make an outlier.
constexpr double kOutlier = 5;
/// Of a normal distribution: its standard deviation in median absolute deviations.
constexpr double kScaled = 1.4826;
/// Deviations below this share of the median are noise, however alike the segments are.
constexpr double kLeastDeviation = 0.01;

/// A segment and its calls: from `first` to before `last`.
struct Bounds {
  std::uint32_t first = 0, last = 0;
  std::uint64_t begin_ns = 0, end_ns = 0;
};

/// Looks for the samples of a time line's segments, which are mostly in order.
class SegmentSamples {
 public:
  explicit SegmentSamples(const storage::Sequence<Sample>& samples) : samples_(samples), next_(gap_at(0)) {}

  /// The call path that has most of the samples in the segment's gaps.
  std::uint32_t most_sampled(const Bounds& bounds) {
    if (before_ > bounds.first) go_behind(bounds.first);
    while (next_ <= bounds.first) advance();
    return next_ > bounds.last ? CallPaths::kNone : most_until(bounds.last);
  }
  /// The samples up to this gap are passed over.
  void go_behind(std::uint32_t gap);

 private:
  /// Behind the last one a gap behind all.
  [[nodiscard]] std::uint64_t gap_at(std::size_t sample) const {
    return sample < samples_.size() ? samples_[sample].gap : TimeLine::kNever;
  }
  void advance() {
    before_ = next_;
    next_ = gap_at(++at_);
  }
  std::uint32_t most_until(std::uint32_t gap);

  const storage::Sequence<Sample>& samples_;
  std::size_t at_ = 0;
  std::uint64_t before_ = 0, next_ = 0;  // gaps: that of the sample before, and that of the one there
  std::vector<std::pair<std::uint32_t, std::uint64_t>> sampled_;  // few paths; kept for its memory
};

void SegmentSamples::go_behind(std::uint32_t gap) {
  const auto behind = [](std::uint32_t wanted, const Sample& one) { return wanted < one.gap; };
  const auto found = std::upper_bound(samples_.begin(), samples_.end(), gap, behind);
  at_ = static_cast<std::size_t>(found - samples_.begin());
  before_ = at_ == 0 ? 0 : gap_at(at_ - 1);
  next_ = gap_at(at_);
}

std::uint32_t SegmentSamples::most_until(std::uint32_t gap) {
  sampled_.clear();
  for (; next_ <= gap; advance()) {
    const Sample one = samples_[at_];
    if (one.waiting != 0) continue;  // left out, as in SOS-times
    const auto found = std::find_if(sampled_.begin(), sampled_.end(),
                                    [&one](const auto& path) { return path.first == one.context; });
    if (found == sampled_.end()) {
      sampled_.emplace_back(one.context, one.ns);
    } else {
      found->second += one.ns;
    }
  }
  std::uint32_t context = CallPaths::kNone;
  std::uint64_t most = 0;
  for (const auto& [path, ns] : sampled_) {
    if (ns < most || ns == 0 || (ns == most && path > context)) continue;
    most = ns;
    context = path;
  }
  return context;
}

/// The time in the segment without the calls and the waits for threads in it.
std::uint64_t without_waits(const TimeLine& line, const Bounds& bounds) {
  std::uint64_t left = bounds.end_ns - std::min(bounds.begin_ns, bounds.end_ns);
  for (std::uint32_t i = bounds.first; i < bounds.last; ++i) {
    const Event event = line.events[i];
    const std::uint64_t enter = std::max(event.enter_ns, bounds.begin_ns);
    const std::uint64_t exit = std::min(event.exit_ns, bounds.end_ns);
    if (exit > enter) left -= std::min(left, exit - enter);
  }
  return left - std::min(left, thread_waits_in(line, bounds.begin_ns, bounds.end_ns));
}

/// From `begin_ns` to `end_ns`, with the calls that overlap that.
Bounds bounds_between(const TimeLine& line, std::uint64_t begin_ns, std::uint64_t end_ns) {
  const storage::Sequence<Event>& events = line.events;
  const auto by_exit = [](const Event& event, std::uint64_t ns) { return event.exit_ns <= ns; };
  const auto by_enter = [](const Event& event, std::uint64_t ns) { return event.enter_ns < ns; };
  const auto first = std::lower_bound(events.begin(), events.end(), begin_ns, by_exit);
  const auto last = std::lower_bound(first, events.end(), end_ns, by_enter);
  return {static_cast<std::uint32_t>(first - events.begin()),
          static_cast<std::uint32_t>(last - events.begin()), begin_ns, end_ns};
}

/// Which call path below a procedure has most of the samples in the gaps of a segment with stamps. Many of
/// them may lie in one gap, where samples do not say in which.
class SampledBelow {
 public:
  SampledBelow(const TimeLine& line, const CallPaths& paths, std::uint32_t procedure)
      : line_(line), paths_(paths), procedure_(procedure) {}

  std::uint32_t most_sampled(const Bounds& bounds) {
    if (bounds.first == bounds.last && bounds.first == gap_) return context_;
    std::map<std::uint32_t, std::uint64_t> sampled;
    for (std::uint32_t gap = bounds.first; gap <= bounds.last; ++gap) {
      for_samples(line_, gap, [&](const Sample& one) {
        if (one.waiting == 0 && paths_.lies_in(one.context, procedure_)) sampled[one.context] += one.ns;
      });
    }
    const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
    const auto most = std::ranges::max_element(sampled, less);
    context_ = most == sampled.end() ? CallPaths::kNone : most->first;
    gap_ = bounds.first == bounds.last ? bounds.first : kNoGap;
    return context_;
  }

 private:
  static constexpr std::uint32_t kNoGap = ~std::uint32_t{0};

  const TimeLine& line_;
  const CallPaths& paths_;
  std::uint32_t procedure_;
  std::uint32_t gap_ = kNoGap;  // all samples of this one were looked at last
  std::uint32_t context_ = CallPaths::kNone;
};

/// Makes the segments of a time line from the calls that a procedure begins anew with.
class SegmentMaker {
 public:
  SegmentMaker(const TimeLine& line, bool in_order, std::vector<Segment>& segments)
      : line_(line), in_order_(in_order), samples_(line.samples), segments_(segments) {}

  /// Calls may overlap (a loop of polls lasts until after later calls): segments follow each other none the
  /// less.
  void begin(const RecurringCall& call) {
    start_ = call;
    if (!segments_.empty()) start_.enter_ns = std::max(start_.enter_ns, segments_.back().begin_ns);
  }
  /// The one that was begun last: in front of this call.
  void end(std::uint32_t event, std::uint64_t ns, std::uint64_t calls_ns) {
    const Bounds bounds{start_.event, event, start_.enter_ns, std::max(ns, start_.enter_ns)};
    Segment& segment = segments_.emplace_back();
    segment.begin_ns = bounds.begin_ns;
    segment.end_ns = bounds.end_ns;
    segment.sos_ns = in_order_ ? bounds.end_ns - bounds.begin_ns - (calls_ns - start_.calls_ns) -
                                     thread_waits_in(line_, bounds.begin_ns, bounds.end_ns)
                               : without_waits(line_, bounds);
    segment.context = samples_.most_sampled(bounds);
    segment.location = line_.location;
  }
  /// The last one, with the last call below the procedure.
  void end(const Invocations& of) { end(of.end_event, of.end_ns, of.end_calls_ns); }
  /// It is the only one that is made.
  void end_only(const Invocations& of) {
    samples_.go_behind(start_.event);
    end(of);
  }

 private:
  const TimeLine& line_;
  bool in_order_;
  SegmentSamples samples_;
  std::vector<Segment>& segments_;
  RecurringCall start_;
};

/// Of a region, the longest own time of a thread of OpenMP's team besides the main one, and where that spent
/// most time; `segment`, which has the main thread's, takes it. Threads whose wait behind the region is not
/// recorded may have idled in it.
class TeamTimes {
 public:
  TeamTimes(const std::vector<const TimeLine*>& team, const CallPaths& paths, std::uint32_t procedure) {
    for (const TimeLine* const line : team) threads_.push_back({line, SampledBelow(*line, paths, procedure)});
  }

  void add_to(Segment& segment) {
    for (Thread& thread : threads_) {
      const storage::Sequence<ThreadWait>& waits = thread.line->thread_waits;
      const auto behind =
          std::lower_bound(waits.begin(), waits.end(), segment.end_ns,
                           [](const ThreadWait& one, std::uint64_t ns) { return one.end_ns < ns; });
      if (behind == waits.end()) continue;
      const ThreadWait wait = *behind;
      const bool of_team = wait.pattern == WaitPattern::omp_barrier || wait.pattern == WaitPattern::omp_idle;
      if (!of_team || wait.begin_ns <= segment.begin_ns) continue;
      const Bounds bounds = bounds_between(*thread.line, segment.begin_ns, segment.end_ns);
      const std::uint64_t own_ns = without_waits(*thread.line, bounds);
      if (own_ns <= segment.sos_ns) continue;
      segment.sos_ns = own_ns;
      segment.context = thread.samples.most_sampled(bounds);
      segment.location = thread.line->location;
    }
  }

 private:
  struct Thread {
    const TimeLine* line;
    SampledBelow samples;
  };
  std::vector<Thread> threads_;
};

class VariationPass {
 public:
  VariationPass(exchange::Communicator& analysis, const RankMap& rank_map, const Matched& matched,
                const ProcedureSums& sums, const VariationOptions& options, Variation&& before)
      : analysis_(analysis), sums_(sums), options_(options), before_(std::move(before)) {
    const std::vector<TimeLine>& lines = matched.store.lines();
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::int32_t rank = rank_map.rank_of(lines[i].location);
      if (rank_map.location_of(rank, 0) == lines[i].location) {
        rows_.push_back({rank,
                         &lines[i],
                         i < options.marks.size() ? options.marks[i] : std::vector<IterationMark>{},
                         {}});
      } else if (!rows_.empty() && rows_.back().rank == rank && !lines[i].thread_waits.empty()) {
        rows_.back().team.push_back(&lines[i]);  // behind the first line of its process
      }
    }
  }

  Variation run() {
    std::uint64_t marked = 0;
    for (const Row& row : rows_) marked += row.marks.size();
    result_.marked = analysis_.all_sum(marked) > 0 && options_.procedure == CallPaths::kNone;
    if (!result_.marked) choose();
    result_.rows = std::move(before_.rows);
    result_.rows.resize(rows_.size());
    std::uint64_t divided = 0;  // anew
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      result_.ranks.push_back(rows_[i].rank);
      if (begins_as_before(i)) {
        end_last(i);
        continue;
      }
      ++divided;
      result_.rows[i].clear();
      if (result_.marked) {
        find_between_marks(rows_[i], result_.rows[i]);
      } else {
        find_invocations(i);
      }
    }
    if (analysis_.all_sum(divided) > 0) {
      find_outliers();
    } else {
      take_outliers();
    }
    return std::move(result_);
  }

 private:
  struct Row {
    std::int32_t rank = -1;
    const TimeLine* line = nullptr;
    std::vector<IterationMark> marks;
    std::vector<const TimeLine*> team;  // of other threads: those that waited for threads
  };

  void choose();
  static std::vector<std::uint64_t> ends_of(const Row& row);
  static void find_between_marks(const Row& row, std::vector<Segment>& segments);
  [[nodiscard]] bool begins_as_before(std::size_t row) const;
  void find_invocations(std::size_t row);
  void find_stamped(const Row& row, std::vector<Segment>& segments) const;
  void end_last(std::size_t row);
  [[nodiscard]] std::size_t whole(const std::vector<Segment>& row) const;
  void find_outliers();
  void take_outliers();

  exchange::Communicator& analysis_;
  const ProcedureSums& sums_;
  VariationOptions options_;
  std::vector<Row> rows_;
  Variation before_, result_;
};

void VariationPass::choose() {
  std::uint32_t procedure = options_.procedure;
  if (procedure == CallPaths::kNone) {
    const std::vector<std::uint32_t> dominant = sums_.levels(1);
    if (!dominant.empty()) procedure = dominant.front();
  }
  const ProcedureSum* const chosen = sums_.of(procedure);
  if (chosen == nullptr) return;
  result_.procedure = chosen->procedure;
  result_.stamped = chosen->stamped == chosen->invocations;
  result_.context = chosen->context;
}

/// Where what each mark begins ends: at the next mark, the last one at the last call, or before that, where a
/// region with stamps ends that was open at the mark.
std::vector<std::uint64_t> VariationPass::ends_of(const Row& row) {
  std::vector<std::uint64_t> ends;
  if (row.marks.empty()) return ends;
  const storage::Sequence<Event>& events = row.line->events;
  for (std::size_t i = 1; i < row.marks.size(); ++i) ends.push_back(row.marks[i].ns);
  ends.push_back(events.empty()           ? row.marks.back().ns
                 : events.back().finalize ? events.back().enter_ns
                                          : events.back().exit_ns);
  for (std::size_t i = 0; i < row.line->stamped.size(); ++i) {
    const StampedInvocation region = row.line->stamped[i];
    const auto after = std::ranges::lower_bound(row.marks, region.end_ns, {}, &IterationMark::ns);
    if (after == row.marks.begin() || std::prev(after)->ns < region.begin_ns) continue;
    std::uint64_t& end = ends[static_cast<std::size_t>(after - row.marks.begin()) - 1];
    end = std::min(end, region.end_ns);
  }
  return ends;
}

void VariationPass::find_between_marks(const Row& row, std::vector<Segment>& segments) {
  SegmentSamples samples(row.line->samples);
  const std::vector<std::uint64_t> ends = ends_of(row);
  std::uint64_t begin = 0;
  for (std::size_t i = 0; i < row.marks.size(); ++i) {
    begin = std::max(begin, row.marks[i].ns);
    const std::uint64_t end = std::max(begin, ends[i]);
    const Bounds bounds = bounds_between(*row.line, begin, end);
    segments.push_back({.begin_ns = begin,
                        .end_ns = end,
                        .sos_ns = without_waits(*row.line, bounds),
                        .context = samples.most_sampled(bounds),
                        .location = row.line->location});
  }
}

/// Whether its segments are those of before, but for the last, which may end with another call.
bool VariationPass::begins_as_before(std::size_t row) const {
  if (result_.procedure == CallPaths::kNone || before_.procedure == CallPaths::kNone) return false;
  const Invocations* const before = sums_.lines()[row].find(before_.procedure);
  const Invocations* const now = sums_.lines()[row].find(result_.procedure);
  if (before == nullptr || now == nullptr) return before == now;
  if (before->stamped || now->stamped) return false;
  return before->context == now->context && before->depth == now->depth;
}

/// From each recurrence of the first MPI call path below the procedure to the next; the last ends with the
/// last call below it.
void VariationPass::find_invocations(std::size_t row) {
  const LineInvocations& line = sums_.lines()[row];
  const Invocations* const of = line.find(result_.procedure);
  if (of == nullptr) return;
  std::vector<Segment>& segments = result_.rows[row];
  segments.reserve(of->count);
  if (of->stamped) {
    find_stamped(rows_[row], segments);
    return;
  }
  SegmentMaker division(*rows_[row].line, line.in_order, segments);
  bool first = true;
  for (std::size_t i = line.first; i < line.last; ++i) {
    const RecurringCall call = sums_.calls()[i];
    if (call.context != of->context || (!first && call.depth > of->depth)) continue;
    if (!first) division.end(call.event, call.enter_ns, call.calls_ns);
    division.begin(call);
    first = false;
  }
  division.end(*of);
}

void VariationPass::find_stamped(const Row& row, std::vector<Segment>& segments) const {
  const TimeLine& line = *row.line;
  TeamTimes team(row.team, sums_.paths(), result_.procedure);
  SampledBelow samples(line, sums_.paths(), result_.procedure);
  for_stamped(line, sums_.paths(), [&](const StampedInvocation& one) {
    if (sums_.paths().procedure[one.context] != result_.procedure) return;
    const Bounds bounds = bounds_between(line, one.begin_ns, one.end_ns);
    segments.push_back({.begin_ns = one.begin_ns,
                        .end_ns = one.end_ns,
                        .sos_ns = without_waits(line, bounds),
                        .context = samples.most_sampled(bounds),
                        .location = line.location});
    team.add_to(segments.back());
  });
  std::ranges::reverse(segments);
}

/// Of segments of before.
void VariationPass::end_last(std::size_t row) {
  const LineInvocations& line = sums_.lines()[row];
  const Invocations* const of = line.find(result_.procedure);
  if (of == nullptr) return;
  RecurringCall start;
  for (std::size_t i = line.last; i > line.first;) {
    const RecurringCall call = sums_.calls()[--i];
    if (call.context != of->context) continue;
    start = call;
    if (call.depth <= of->depth) break;  // else it may be the first of all
  }
  result_.rows[row].pop_back();
  SegmentMaker division(*rows_[row].line, line.in_order, result_.rows[row]);
  division.begin(start);
  division.end_only(*of);
}

/// How many segments of a row are known as a whole: the last one is cut off somewhere, unless it has stamps.
std::size_t VariationPass::whole(const std::vector<Segment>& row) const {
  return result_.stamped || row.empty() ? row.size() : row.size() - 1;
}

/// By the median absolute deviation of all ranks' segments.
void VariationPass::find_outliers() {
  std::size_t most = 0;
  for (const std::vector<Segment>& row : result_.rows) most += row.size();
  std::vector<std::uint64_t> own;  // first SOS-times, then their distances from the median
  own.reserve(most);
  for (const std::vector<Segment>& row : result_.rows) {
    for (std::size_t i = 0; i < whole(row); ++i) own.push_back(row[i].sos_ns);
  }
  const std::uint64_t count = analysis_.all_sum(own.size());
  if (count == 0) return;
  result_.median_ns = exchange::order_statistic(analysis_, own, count / 2);
  for (std::uint64_t& value : own) {
    value = value > result_.median_ns ? value - result_.median_ns : result_.median_ns - value;
  }
  const auto middle = static_cast<double>(result_.median_ns);
  const auto apart = static_cast<double>(exchange::order_statistic(analysis_, own, count / 2));
  const double deviation = std::max(kScaled * apart, kLeastDeviation * middle);
  const double limit = middle + kOutlier * deviation;
  auto distance = own.cbegin();
  for (std::size_t row = 0; row < result_.rows.size(); ++row) {
    for (std::size_t i = 0; i < whole(result_.rows[row]); ++i) {
      // Most segments are not even looked at.
      if (static_cast<double>(result_.median_ns + *distance++) <= limit) continue;
      const Segment& one = result_.rows[row][i];
      if (static_cast<double>(one.sos_ns) <= limit) continue;
      result_.outliers.push_back(
          {result_.ranks[row], static_cast<std::uint32_t>(i), one.sos_ns, one.context, one.location});
    }
  }
}

/// The last segments of rows, which may differ from those of before, count neither for them nor among them.
void VariationPass::take_outliers() {
  result_.median_ns = before_.median_ns;
  result_.outliers = std::move(before_.outliers);
}

}  // namespace

Variation variation(exchange::Communicator& analysis, const RankMap& rank_map, const Matched& matched,
                    const ProcedureSums& sums, const VariationOptions& options, Variation&& before) {
  return VariationPass(analysis, rank_map, matched, sums, options, std::move(before)).run();
}

}  // namespace culprit::waits
