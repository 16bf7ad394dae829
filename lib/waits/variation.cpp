#include "waits/variation.hpp"

#include "waits/order_statistic.hpp"
#include "waits/recurrence.hpp"

#include <algorithm>
#include <utility>

namespace culprit::waits {

namespace {

constexpr std::uint32_t kNone = CallPaths::kNone;
/// Of a normal distribution: its standard deviation in median absolute deviations.
constexpr double kScaled = 1.4826;
/// Deviations below this share of the median are noise, however alike the segments are.
constexpr double kLeastDeviation = 0.01;

class VariationPass {
 public:
  VariationPass(exchange::Communicator& analysis, const Roster& roster, const Forward& forward,
                const ProcedureSums& sums, std::span<const std::vector<IterationMark>> marks,
                const VariationOptions& options)
      : analysis_(analysis), sums_(sums), paths_(sums.paths()), options_(options), returns_(paths_) {
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
    result_.marked = analysis_.all_sum(marked) > 0 && options_.procedure == kNone && options_.finer == 0;
    if (!result_.marked) choose();
    for (const Row& row : rows_) {
      result_.ranks.push_back(row.rank);
      result_.rows.push_back(result_.marked ? between_marks(row) : invocations(row));
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
  /// Of the chosen procedure, on one time line.
  struct Recurring {
    struct Call {
      std::uint32_t event = 0;
      std::uint32_t depth = 0;  ///< of what control came back to, below the procedure
      std::uint64_t enter_ns = 0;
      std::uint64_t calls_ns = 0;  ///< that all calls before it took
    };
    std::vector<Call> calls;
    std::uint32_t depth = 0;
    Call end;  ///< behind the last call below the procedure, as if one were entered when that is left
    bool in_order = true;  ///< each call is entered after the one before was left
  };
  /// A segment and its calls: from `first` to before `last`.
  struct Bounds {
    std::uint32_t first = 0, last = 0;
    std::uint64_t begin_ns = 0, end_ns = 0;
  };

  void choose();
  void find_frames();
  [[nodiscard]] std::vector<Segment> between_marks(const Row& row) const;
  [[nodiscard]] std::vector<Segment> invocations(const Row& row);
  void find_recurring(const Sequence<Event>& events);
  void recur(const Event& event, std::uint32_t index, std::uint64_t number, std::uint64_t calls_ns);
  static std::uint64_t without_calls(const TimeLine& line, const Bounds& bounds);
  static std::uint32_t most_sampled(const TimeLine& line, const Bounds& bounds, std::size_t& sample);
  void find_outliers();

  exchange::Communicator& analysis_;
  const ProcedureSums& sums_;
  const CallPaths& paths_;
  VariationOptions options_;
  Returns returns_;
  std::vector<Row> rows_;
  Variation result_;
  std::vector<std::uint32_t> frame_of_;  // by call path: the outermost of the procedure's; kNone: it has none
  // Of one time line, kept for its memory:
  Recurring recurring_;
  Recurrences recurrences_;
  std::uint32_t anchor_ = kNone;  // the first MPI call path below the procedure
  std::uint64_t last_ = 0;        // the number of its last call
};

void VariationPass::choose() {
  const ProcedureSum* const chosen =
      options_.procedure != kNone ? sums_.of(options_.procedure) : sums_.dominant(options_.finer);
  if (chosen == nullptr) return;
  result_.procedure = chosen->procedure;
  result_.context = chosen->context;
  find_frames();
}

void VariationPass::find_frames() {
  frame_of_.assign(paths_.parent.size(), kNone);
  for (std::uint32_t context = 0; context < frame_of_.size(); ++context) {
    const std::uint32_t parent = paths_.parent[context];  // comes before its children
    if (parent != kNone) frame_of_[context] = frame_of_[parent];
    if (frame_of_[context] == kNone && paths_.procedure[context] == result_.procedure)
      frame_of_[context] = context;
  }
}

/// The time in the segment without the calls in it.
std::uint64_t VariationPass::without_calls(const TimeLine& line, const Bounds& bounds) {
  std::uint64_t left = bounds.end_ns - bounds.begin_ns;
  for (std::uint32_t i = bounds.first; i < bounds.last; ++i) {
    const Event event = line.events[i];
    const std::uint64_t enter = std::max(event.enter_ns, bounds.begin_ns);
    const std::uint64_t exit = std::min(event.exit_ns, bounds.end_ns);
    if (exit > enter) left -= std::min(left, exit - enter);
  }
  return left;
}

/// The call path that has most of the samples in the segment's gaps. `sample` is where those of the segment
/// before ended: segments are mostly in order.
std::uint32_t VariationPass::most_sampled(const TimeLine& line, const Bounds& bounds, std::size_t& sample) {
  const Sequence<Sample>& samples = line.samples;
  const auto before = [&](const Sample& one, std::uint32_t gap) { return one.gap < gap; };
  if (sample > 0 && samples[sample - 1].gap > bounds.first) {
    sample = static_cast<std::size_t>(
        std::lower_bound(samples.begin(), samples.end(), bounds.first + 1, before) - samples.begin());
  }
  while (sample < samples.size() && samples[sample].gap <= bounds.first) ++sample;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> sampled;  // few paths
  for (; sample < samples.size(); ++sample) {
    const Sample one = samples[sample];
    if (one.gap > bounds.last) break;
    const auto found = std::find_if(sampled.begin(), sampled.end(),
                                    [&one](const auto& path) { return path.first == one.context; });
    if (found == sampled.end()) {
      sampled.emplace_back(one.context, one.ns);
    } else {
      found->second += one.ns;
    }
  }
  std::uint32_t context = kNone;
  std::uint64_t most = 0;
  for (const auto& [path, ns] : sampled) {
    if (ns < most || ns == 0 || (ns == most && path > context)) continue;
    most = ns;
    context = path;
  }
  return context;
}

/// From each mark to the next, and from the last to the last call.
std::vector<Segment> VariationPass::between_marks(const Row& row) const {
  std::vector<Segment> segments;
  const Sequence<Event>& events = row.line->events;
  std::size_t sample = 0;
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
                        .context = most_sampled(*row.line, bounds, sample)});
  }
  return segments;
}

/// From each recurrence of the first MPI call path below the procedure to the next; the last ends with the
/// last call below it.
std::vector<Segment> VariationPass::invocations(const Row& row) {
  std::vector<Segment> segments;
  if (result_.procedure == kNone) return segments;
  find_recurring(row.line->events);
  std::vector<Recurring::Call>& starts = recurring_.calls;
  std::erase_if(starts, [this](const Recurring::Call& call) { return call.depth > recurring_.depth; });
  segments.reserve(starts.size());
  std::size_t sample = 0;
  for (auto start = starts.cbegin(); start != starts.cend(); ++start) {
    const Recurring::Call& until = start + 1 == starts.cend() ? recurring_.end : *(start + 1);
    const Bounds bounds{start->event, until.event, start->enter_ns, until.enter_ns};
    const std::uint64_t sos_ns = recurring_.in_order
                                     ? bounds.end_ns - bounds.begin_ns - (until.calls_ns - start->calls_ns)
                                     : without_calls(*row.line, bounds);
    segments.push_back({.begin_ns = bounds.begin_ns,
                        .end_ns = bounds.end_ns,
                        .sos_ns = sos_ns,
                        .context = most_sampled(*row.line, bounds, sample)});
  }
  return segments;
}

/// The calls of the first MPI call path below the procedure, and how deep below it those lie at which it
/// begins anew.
void VariationPass::find_recurring(const Sequence<Event>& events) {
  recurring_.calls.clear();
  recurring_.end = {};
  recurring_.in_order = true;
  recurrences_ = {};
  returns_.begin_line();
  anchor_ = kNone;
  last_ = 0;
  std::uint32_t index = 0;
  std::uint64_t calls_ns = 0, left_ns = 0;
  events.for_each([&](const Event& event) {
    recurring_.in_order = recurring_.in_order && left_ns <= event.enter_ns && event.enter_ns <= event.exit_ns;
    left_ns = event.exit_ns;
    if (event.context < frame_of_.size()) {
      const std::uint64_t number = returns_.call(event.context);
      if (frame_of_[event.context] != kNone) {
        recur(event, index, number, calls_ns);
        recurring_.end = {.event = index + 1,
                          .enter_ns = event.exit_ns,
                          .calls_ns = calls_ns + event.exit_ns - event.enter_ns};
      }
    }
    calls_ns += event.exit_ns - event.enter_ns;
    ++index;
  });
  recurring_.depth = recurrences_.level().depth;
}

/// A call below the procedure.
void VariationPass::recur(const Event& event, std::uint32_t index, std::uint64_t number,
                          std::uint64_t calls_ns) {
  recurrences_.extend(event.exit_ns);
  if (anchor_ == kNone) anchor_ = event.context;
  if (event.context != anchor_) return;
  const std::uint32_t depth = returns_.outermost_since(last_, event.context);
  const std::uint32_t below =
      last_ == 0 ? 0 : depth - std::min(depth, returns_.depth(frame_of_[event.context]));
  recurring_.calls.push_back(
      {.event = index, .depth = below, .enter_ns = event.enter_ns, .calls_ns = calls_ns});
  recurrences_.begins(event.enter_ns, below);
  last_ = number;
}

/// By the median absolute deviation of all ranks' segments. The last segment of a row is cut off somewhere.
void VariationPass::find_outliers() {
  std::size_t most = 0;
  for (const std::vector<Segment>& row : result_.rows) most += row.size();
  std::vector<std::uint64_t> own;
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
  for (std::size_t row = 0; row < result_.rows.size(); ++row) {
    for (std::size_t i = 0; i + 1 < result_.rows[row].size(); ++i) {
      const Segment& one = result_.rows[row][i];
      if (static_cast<double>(one.sos_ns) <= limit) continue;
      result_.outliers.push_back(
          {result_.ranks[row], static_cast<std::uint32_t>(i), one.sos_ns, one.context});
    }
  }
  std::stable_sort(result_.outliers.begin(), result_.outliers.end(),
                   [](const Outlier& a, const Outlier& b) { return a.sos_ns > b.sos_ns; });
}

}  // namespace

Variation variation(exchange::Communicator& analysis, const Roster& roster, const Forward& forward,
                    const ProcedureSums& sums, std::span<const std::vector<IterationMark>> marks,
                    const VariationOptions& options) {
  return VariationPass(analysis, roster, forward, sums, marks, options).run();
}

}  // namespace culprit::waits
