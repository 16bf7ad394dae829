#include "waits/variation.hpp"

#include "waits/letter.hpp"
#include "waits/recurrence.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

namespace culprit::waits {

namespace {

constexpr std::uint32_t kNone = CallPaths::kNone;
/// Of a normal distribution: its standard deviation in median absolute deviations.
constexpr double kScaled = 1.4826;
/// Deviations below this share of the median are noise, however alike the segments are.
constexpr double kLeastDeviation = 0.01;

/// Inclusive time and invocations of a procedure, on all time lines together.
struct ProcedureSum {
  std::uint32_t procedure = kNone;
  std::uint32_t context = kNone;  // its frame with the most time
  std::uint64_t context_ns = 0;
  std::uint64_t ns = 0;
  std::uint64_t invocations = 0;
  std::uint64_t uneven = 0;  // ranks on which one invocation has nearly all of the time
};

/// What is known of an MPI call path that is some procedures' first one, on one time line.
struct Anchor {
  struct Procedure {
    std::uint32_t procedure, frame;  ///< the outermost frame of the procedure's on the path
  };
  std::vector<Procedure> procedures;
  std::uint64_t last = 0;  ///< the number of its last call
};

class VariationPass {
 public:
  VariationPass(exchange::Communicator& analysis, const Roster& roster, const Forward& forward,
                const CallPaths& paths, std::span<const std::vector<IterationMark>> marks,
                const VariationOptions& options)
      : analysis_(analysis), paths_(paths), options_(options), returns_(paths) {
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
      std::size_t event;
      std::uint32_t depth;  ///< of what control came back to, below the procedure
    };
    std::vector<Call> calls;
    std::uint32_t depth = 0;
    std::size_t end = 0;  ///< behind the last call below the procedure
  };

  [[nodiscard]] bool known(std::uint32_t context) const { return context < paths_.parent.size(); }
  /// On the path; kNone: it has none.
  [[nodiscard]] std::uint32_t outermost_frame(std::uint32_t context, std::uint32_t procedure) const {
    std::uint32_t frame = kNone;
    for (; known(context); context = paths_.parent[context]) {
      if (paths_.procedure[context] == procedure) frame = context;
    }
    return frame;
  }
  [[nodiscard]] bool below(std::uint32_t context, std::uint32_t procedure) const {
    return outermost_frame(context, procedure) != kNone;
  }
  /// Calls visit(procedure, its outermost frame) for each procedure on the path, once.
  template <typename Visit>
  void procedures_above(std::uint32_t context, Visit visit) const {
    std::map<std::uint32_t, std::uint32_t> outermost;
    for (; known(context); context = paths_.parent[context]) {
      if (paths_.procedure[context] != kNone) outermost[paths_.procedure[context]] = context;
    }
    for (const auto& [procedure, frame] : outermost) visit(procedure, frame);
  }

  void choose();
  void take(const ProcedureSum& sum) {
    result_.procedure = sum.procedure;
    result_.context = sum.context;
  }
  [[nodiscard]] std::vector<ProcedureSum> own_sums();
  [[nodiscard]] std::vector<ProcedureSum> all_sums();
  [[nodiscard]] std::vector<Segment> between_marks(const Row& row) const;
  [[nodiscard]] std::vector<Segment> invocations(const Row& row);
  [[nodiscard]] Recurring recurring(const Sequence<Event>& events);
  [[nodiscard]] Segment segment(const TimeLine& line, std::size_t first, std::size_t last,
                                std::uint64_t begin, std::uint64_t end) const;
  void find_outliers();

  exchange::Communicator& analysis_;
  const CallPaths& paths_;
  VariationOptions options_;
  Returns returns_;
  std::vector<Row> rows_;
  Variation result_;
};

std::vector<ProcedureSum> VariationPass::own_sums() {
  std::map<std::uint32_t, ProcedureSum> sums;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> frames;
  for (const Row& row : rows_) {
    std::unordered_map<std::uint32_t, std::uint64_t> time, last_exit;
    std::unordered_map<std::uint32_t, Anchor> anchors;  // by MPI call path
    std::map<std::uint32_t, Recurrences> recurrences;   // by procedure
    returns_.begin_line();
    for (const Sample& sample : row.line->samples) time[sample.context] += sample.ns;
    for (const Event& event : row.line->events) {
      time[event.context] += event.exit_ns - event.enter_ns;
      last_exit[event.context] = event.exit_ns;
      if (!known(event.context)) continue;
      const std::uint64_t number = returns_.call(event.context);
      const auto [found, is_new] = anchors.try_emplace(event.context);
      Anchor& anchor = found->second;
      if (is_new) {
        procedures_above(event.context, [&](std::uint32_t procedure, std::uint32_t frame) {
          if (recurrences.try_emplace(procedure).second) anchor.procedures.push_back({procedure, frame});
        });
      }
      if (anchor.procedures.empty()) continue;
      const std::uint32_t depth = returns_.outermost_since(anchor.last, event.context);
      for (const auto& [procedure, frame] : anchor.procedures)
        recurrences[procedure].begins(event.enter_ns, depth - std::min(depth, returns_.depth(frame)));
      anchor.last = number;
    }
    for (const auto& left : last_exit) {
      procedures_above(left.first, [&](std::uint32_t procedure, std::uint32_t) {
        recurrences[procedure].extend(left.second);
      });
    }
    for (const auto& spent : time) {
      procedures_above(spent.first, [&](std::uint32_t procedure, std::uint32_t frame) {
        sums[procedure].ns += spent.second;
        frames[{procedure, frame}] += spent.second;
      });
    }
    for (const auto& [procedure, recurrence] : recurrences) {
      sums[procedure].invocations += recurrence.count();
      if (recurrence.uneven()) ++sums[procedure].uneven;
    }
  }
  for (const auto& [key, ns] : frames) {
    ProcedureSum& sum = sums[key.first];
    if (ns <= sum.context_ns) continue;
    sum.context = key.second;
    sum.context_ns = ns;
  }
  std::vector<ProcedureSum> list;
  for (auto& [procedure, sum] : sums) {
    sum.procedure = procedure;
    list.push_back(sum);
  }
  return list;
}

/// Those of all ranks of the analysis, with the highest inclusive time first.
std::vector<ProcedureSum> VariationPass::all_sums() {
  std::map<std::uint32_t, ProcedureSum> sums;
  for (const ProcedureSum& part : items_of_all<ProcedureSum>(analysis_, own_sums())) {
    ProcedureSum& sum = sums[part.procedure];
    sum.procedure = part.procedure;
    sum.ns += part.ns;
    sum.invocations += part.invocations;
    sum.uneven += part.uneven;
    if (part.context_ns > sum.context_ns ||
        (part.context_ns == sum.context_ns && part.context < sum.context)) {
      sum.context = part.context;
      sum.context_ns = part.context_ns;
    }
  }
  std::vector<ProcedureSum> list;
  list.reserve(sums.size());
  for (const auto& [procedure, sum] : sums) list.push_back(sum);
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.ns > b.ns; });
  return list;
}

void VariationPass::choose() {
  const std::uint64_t rows = analysis_.all_sum(rows_.size());
  const std::vector<ProcedureSum> sums = all_sums();
  if (options_.procedure != kNone) {
    const auto named = std::find_if(sums.begin(), sums.end(), [this](const ProcedureSum& sum) {
      return sum.procedure == options_.procedure;
    });
    if (named != sums.end()) take(*named);
    return;
  }
  for (const bool even : {true, false}) {
    int skip = options_.finer;
    for (const ProcedureSum& sum : sums) {
      if (sum.invocations < 2 * rows || (even && 2 * sum.uneven > rows)) continue;
      // A finer level lies below the one before.
      if (result_.procedure != kNone && !below(sum.context, result_.procedure)) continue;
      take(sum);
      if (skip-- == 0) return;
    }
    if (result_.procedure != kNone) return;
  }
}

/// Between `begin` and `end`; calls `first` to before `last` lie in it.
Segment VariationPass::segment(const TimeLine& line, std::size_t first, std::size_t last, std::uint64_t begin,
                               std::uint64_t end) const {
  Segment made{.begin_ns = begin, .end_ns = end, .sos_ns = end - begin, .context = kNone};
  for (std::size_t i = first; i < last; ++i) {
    const std::uint64_t enter = std::max(line.events[i].enter_ns, begin);
    const std::uint64_t exit = std::min(line.events[i].exit_ns, end);
    if (exit > enter) made.sos_ns -= std::min(made.sos_ns, exit - enter);
  }
  std::map<std::uint32_t, std::uint64_t> sampled;
  auto sample = std::lower_bound(line.samples.begin(), line.samples.end(), first + 1,
                                 [](const Sample& one, std::size_t gap) { return one.gap < gap; });
  for (; sample != line.samples.end() && sample->gap <= last; ++sample)
    sampled[sample->context] += sample->ns;
  std::uint64_t most = 0;
  for (const auto& [context, ns] : sampled) {
    if (ns <= most) continue;
    most = ns;
    made.context = context;
  }
  return made;
}

/// From each mark to the next, and from the last to the last call.
std::vector<Segment> VariationPass::between_marks(const Row& row) const {
  std::vector<Segment> segments;
  const Sequence<Event>& events = row.line->events;
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
    segments.push_back(segment(*row.line, static_cast<std::size_t>(first - events.begin()),
                               static_cast<std::size_t>(last - events.begin()), begin, end));
  }
  return segments;
}

/// From each recurrence of the first MPI call path below the procedure to the next; the last ends with the
/// last call below it.
std::vector<Segment> VariationPass::invocations(const Row& row) {
  std::vector<Segment> segments;
  if (result_.procedure == kNone) return segments;
  const Sequence<Event>& events = row.line->events;
  const Recurring found = recurring(events);
  std::vector<std::size_t> starts;
  for (const Recurring::Call& call : found.calls) {
    if (call.depth <= found.depth) starts.push_back(call.event);
  }
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const bool last = i + 1 == starts.size();
    const std::size_t until = last ? found.end : starts[i + 1];
    const std::uint64_t end_ns = last ? events[until - 1].exit_ns : events[until].enter_ns;
    segments.push_back(segment(*row.line, starts[i], until, events[starts[i]].enter_ns, end_ns));
  }
  return segments;
}

/// The calls of the first MPI call path below the procedure, and how deep below it those lie at which it
/// begins anew.
VariationPass::Recurring VariationPass::recurring(const Sequence<Event>& events) {
  Recurring found;
  Recurrences recurrences;
  returns_.begin_line();
  std::unordered_map<std::uint32_t, std::uint32_t>
      frames;  // of the procedure, by call path; kNone: not below it
  std::uint32_t anchor = kNone;
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::uint32_t context = events[i].context;
    if (!known(context)) continue;
    const std::uint64_t number = returns_.call(context);
    const auto [frame, is_new] = frames.try_emplace(context, kNone);
    if (is_new) frame->second = outermost_frame(context, result_.procedure);
    if (frame->second == kNone) continue;
    found.end = i + 1;
    recurrences.extend(events[i].exit_ns);
    if (anchor == kNone) anchor = context;
    if (context != anchor) continue;
    const std::uint32_t depth = returns_.outermost_since(last, context);
    const std::uint32_t below = last == 0 ? 0 : depth - std::min(depth, returns_.depth(frame->second));
    found.calls.push_back({i, below});
    recurrences.begins(events[i].enter_ns, below);
    last = number;
  }
  found.depth = recurrences.level().depth;
  return found;
}

std::uint64_t median(std::vector<std::uint64_t>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// By the median absolute deviation of all ranks' segments. The last segment of a row is cut off somewhere.
void VariationPass::find_outliers() {
  std::vector<std::uint64_t> own;
  for (const std::vector<Segment>& row : result_.rows) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i) own.push_back(row[i].sos_ns);
  }
  std::vector<std::uint64_t> all = items_of_all<std::uint64_t>(analysis_, own);
  result_.median_ns = median(all);
  for (std::uint64_t& value : all) {
    value = value > result_.median_ns ? value - result_.median_ns : result_.median_ns - value;
  }
  const auto middle = static_cast<double>(result_.median_ns);
  const double deviation = std::max(kScaled * static_cast<double>(median(all)), kLeastDeviation * middle);
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
                    const CallPaths& paths, std::span<const std::vector<IterationMark>> marks,
                    const VariationOptions& options) {
  return VariationPass(analysis, roster, forward, paths, marks, options).run();
}

}  // namespace culprit::waits
