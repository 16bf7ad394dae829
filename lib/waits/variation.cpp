#include "waits/variation.hpp"

#include "waits/order_statistic.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace culprit::waits {

namespace {

constexpr std::uint32_t kNone = CallPaths::kNone;
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
  explicit SegmentSamples(const Sequence<Sample>& samples) : samples_(samples), next_(gap_at(0)) {}

  /// The call path that has most of the samples in the segment's gaps.
  std::uint32_t most_sampled(const Bounds& bounds) {
    if (before_ > bounds.first) go_back(bounds.first);
    while (next_ <= bounds.first) advance();
    return next_ > bounds.last ? kNone : most_until(bounds.last);
  }

 private:
  /// Behind the last one a gap behind all.
  [[nodiscard]] std::uint64_t gap_at(std::size_t sample) const {
    return sample < samples_.size() ? samples_[sample].gap : TimeLine::kNever;
  }
  void advance() {
    before_ = next_;
    next_ = gap_at(++at_);
  }
  void go_back(std::uint32_t gap);
  std::uint32_t most_until(std::uint32_t gap);

  const Sequence<Sample>& samples_;
  std::size_t at_ = 0;
  std::uint64_t before_ = 0, next_ = 0;  // gaps: that of the sample before, and that of the one there
  std::vector<std::pair<std::uint32_t, std::uint64_t>> sampled_;  // few paths; kept for its memory
};

/// Behind the samples in this gap.
void SegmentSamples::go_back(std::uint32_t gap) {
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
    const auto found = std::find_if(sampled_.begin(), sampled_.end(),
                                    [&one](const auto& path) { return path.first == one.context; });
    if (found == sampled_.end()) {
      sampled_.emplace_back(one.context, one.ns);
    } else {
      found->second += one.ns;
    }
  }
  std::uint32_t context = kNone;
  std::uint64_t most = 0;
  for (const auto& [path, ns] : sampled_) {
    if (ns < most || ns == 0 || (ns == most && path > context)) continue;
    most = ns;
    context = path;
  }
  return context;
}

/// The time in the segment without the calls in it.
std::uint64_t without_calls(const TimeLine& line, const Bounds& bounds) {
  std::uint64_t left = bounds.end_ns - std::min(bounds.begin_ns, bounds.end_ns);
  for (std::uint32_t i = bounds.first; i < bounds.last; ++i) {
    const Event event = line.events[i];
    const std::uint64_t enter = std::max(event.enter_ns, bounds.begin_ns);
    const std::uint64_t exit = std::min(event.exit_ns, bounds.end_ns);
    if (exit > enter) left -= std::min(left, exit - enter);
  }
  return left;
}

class VariationPass {
 public:
  VariationPass(exchange::Communicator& analysis, const Roster& roster, const Forward& forward,
                const ProcedureSums& sums, std::span<const std::vector<IterationMark>> marks,
                const VariationOptions& options, Variation&& before)
      : analysis_(analysis), sums_(sums), options_(options) {
    result_.rows = std::move(before.rows);
    const std::vector<TimeLine>& lines = forward.ledger.lines();
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::int32_t rank = roster.rank_of(lines[i].location);
      if (roster.location_of(rank, 0) != lines[i].location) continue;
      rows_.push_back({rank, &lines[i], i < marks.size() ? marks[i] : std::vector<IterationMark>{}});
    }
  }

  Variation run() {
    std::uint64_t marked = 0;
    for (const Row& row : rows_) marked += row.marks.size();
    result_.marked = analysis_.all_sum(marked) > 0 && options_.procedure == kNone;
    if (!result_.marked) choose();
    result_.rows.resize(rows_.size());
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      result_.ranks.push_back(rows_[i].rank);
      result_.rows[i].clear();
      if (result_.marked) {
        find_between_marks(rows_[i], result_.rows[i]);
      } else {
        find_invocations(*rows_[i].line, sums_.lines()[i], result_.rows[i]);
      }
    }
    find_outliers();
    return std::move(result_);
  }

 private:
  struct Row {
    std::int32_t rank = -1;
    const TimeLine* line = nullptr;
    std::vector<IterationMark> marks;
  };

  void choose();
  static void find_between_marks(const Row& row, std::vector<Segment>& segments);
  void find_invocations(const TimeLine& line, const LineInvocations& of_line, std::vector<Segment>& segments);
  void find_outliers();

  exchange::Communicator& analysis_;
  const ProcedureSums& sums_;
  VariationOptions options_;
  std::vector<Row> rows_;
  Variation result_;
};

void VariationPass::choose() {
  std::uint32_t procedure = options_.procedure;
  if (procedure == kNone) {
    const std::vector<std::uint32_t> dominant = sums_.levels(1);
    if (!dominant.empty()) procedure = dominant.front();
  }
  const ProcedureSum* const chosen = sums_.of(procedure);
  if (chosen == nullptr) return;
  result_.procedure = chosen->procedure;
  result_.context = chosen->context;
}

/// From each mark to the next, and from the last to the last call.
void VariationPass::find_between_marks(const Row& row, std::vector<Segment>& segments) {
  const Sequence<Event>& events = row.line->events;
  SegmentSamples samples(row.line->samples);
  for (std::size_t i = 0; i < row.marks.size(); ++i) {
    const std::uint64_t begin = row.marks[i].ns;
    std::uint64_t end = i + 1 < row.marks.size() ? row.marks[i + 1].ns : begin;
    if (i + 1 == row.marks.size() && !events.empty()) {
      end = std::max(begin, events.back().finalize ? events.back().enter_ns : events.back().exit_ns);
    }
    const auto by_exit = [](const Event& event, std::uint64_t ns) { return event.exit_ns <= ns; };
    const auto by_enter = [](const Event& event, std::uint64_t ns) { return event.enter_ns < ns; };
    const auto first = std::lower_bound(events.begin(), events.end(), begin, by_exit);
    const auto last = std::lower_bound(first, events.end(), end, by_enter);
    const Bounds bounds{static_cast<std::uint32_t>(first - events.begin()),
                        static_cast<std::uint32_t>(last - events.begin()), begin, end};
    segments.push_back({.begin_ns = begin,
                        .end_ns = end,
                        .sos_ns = without_calls(*row.line, bounds),
                        .context = samples.most_sampled(bounds)});
  }
}

/// From each recurrence of the first MPI call path below the procedure to the next; the last ends with the
/// last call below it.
void VariationPass::find_invocations(const TimeLine& line, const LineInvocations& of_line,
                                     std::vector<Segment>& segments) {
  const auto is_it = [this](const Invocations& one) { return one.procedure == result_.procedure; };
  const auto found = std::find_if(of_line.of.begin(), of_line.of.end(), is_it);
  if (found == of_line.of.end()) return;
  segments.reserve(found->count);
  SegmentSamples samples(line.samples);
  RecurringCall start;
  const auto end = [&](std::uint32_t event, std::uint64_t ns, std::uint64_t calls_ns) {
    const Bounds bounds{start.event, event, start.enter_ns, ns};
    Segment& segment = segments.emplace_back();
    segment.begin_ns = bounds.begin_ns;
    segment.end_ns = bounds.end_ns;
    segment.sos_ns = of_line.in_order ? bounds.end_ns - bounds.begin_ns - (calls_ns - start.calls_ns)
                                      : without_calls(line, bounds);
    segment.context = samples.most_sampled(bounds);
  };
  bool begun = false;
  for (std::size_t i = of_line.first; i < of_line.last; ++i) {
    const RecurringCall call = sums_.calls()[i];
    if (call.context != found->context || (begun && call.depth > found->depth)) continue;
    if (begun) end(call.event, call.enter_ns, call.calls_ns);
    begun = true;
    start = call;
  }
  end(found->end_event, found->end_ns, found->end_calls_ns);
}

/// By the median absolute deviation of all ranks' segments. The last segment of a row is cut off somewhere.
void VariationPass::find_outliers() {
  std::size_t most = 0;
  for (const std::vector<Segment>& row : result_.rows) most += row.size();
  std::vector<std::uint64_t> own;  // first SOS-times, then their distances from the median
  own.reserve(most);
  for (const std::vector<Segment>& row : result_.rows) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i) own.push_back(row[i].sos_ns);
  }
  const std::uint64_t count = analysis_.all_sum(own.size());
  if (count == 0) return;
  result_.median_ns = order_statistic(analysis_, own, count / 2);
  for (std::uint64_t& value : own) {
    value = value > result_.median_ns ? value - result_.median_ns : result_.median_ns - value;
  }
  const auto middle = static_cast<double>(result_.median_ns);
  const auto apart = static_cast<double>(order_statistic(analysis_, own, count / 2));
  const double deviation = std::max(kScaled * apart, kLeastDeviation * middle);
  const double limit = middle + options_.outlier * deviation;
  auto distance = own.cbegin();
  for (std::size_t row = 0; row < result_.rows.size(); ++row) {
    for (std::size_t i = 0; i + 1 < result_.rows[row].size(); ++i) {
      // Most segments are not even looked at.
      if (static_cast<double>(result_.median_ns + *distance++) <= limit) continue;
      const Segment& one = result_.rows[row][i];
      if (static_cast<double>(one.sos_ns) <= limit) continue;
      result_.outliers.push_back(
          {result_.ranks[row], static_cast<std::uint32_t>(i), one.sos_ns, one.context});
    }
  }
}

}  // namespace

Variation variation(exchange::Communicator& analysis, const Roster& roster, const Forward& forward,
                    const ProcedureSums& sums, std::span<const std::vector<IterationMark>> marks,
                    const VariationOptions& options, Variation&& before) {
  return VariationPass(analysis, roster, forward, sums, marks, options, std::move(before)).run();
}

}  // namespace culprit::waits
