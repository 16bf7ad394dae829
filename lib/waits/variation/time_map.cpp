// The map of ranks and time: per rank and bin the time in MPI calls, waits by pattern, and the context that
// most time went to; and the time outside MPI that efficiencies need (docs/algorithms.md 9, 10). Each first
// time line is gone along once; calls that lie in the open bin as a whole, as most do, are added in a loop of
// their own. Calls are known exactly, the code between them only by samples: what more of a bin lies between
// calls than its context has is that of the next sample, which stands for the time before it. 64 to 1000
// bins, about a million cells in all. Cost: 8 to 36 ns per event with efficiencies (docs/figures.md).
#include "waits/variation/time_map.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <utility>

namespace culprit::waits {
namespace {

constexpr std::uint32_t kNothing = ~0U;

/// The bins of a map, of which mostly the same one is asked for again.
class Bins {
 public:
  explicit Bins(const TimeMap& map)
      : map_(map),
        end_ns_(map.begin_ns + map.bins * map.bin_ns),
        since_ns_(map.begin_ns),
        until_ns_(map.begin_ns + map.bin_ns) {}

  /// Calls visit(bin, ns) for each bin that [begin, end) lies in.
  template <typename Visit>
  void visit(std::uint64_t begin, std::uint64_t end, Visit visit) {
    if (begin < end && begin >= since_ns_ && end <= until_ns_) {
      visit(bin_, end - begin);
    } else {
      visit_several(begin, end, visit);
    }
  }
  /// The one that was asked for last, and where it ends.
  [[nodiscard]] std::uint32_t bin() const { return bin_; }
  [[nodiscard]] std::uint64_t until_ns() const { return until_ns_; }

 private:
  template <typename Visit>
  void visit_several(std::uint64_t begin, std::uint64_t end, Visit visit) {
    begin = std::max(begin, map_.begin_ns);
    end = std::min(end, end_ns_);
    while (begin < end) {
      if (begin < since_ns_ || begin >= until_ns_) open(begin);
      const std::uint64_t until = std::min(end, until_ns_);
      visit(bin_, until - begin);
      begin = until;
    }
  }

  void open(std::uint64_t ns) {
    const bool next = ns >= until_ns_ && ns - until_ns_ < map_.bin_ns;
    bin_ = next ? bin_ + 1 : static_cast<std::uint32_t>((ns - map_.begin_ns) / map_.bin_ns);
    since_ns_ = map_.begin_ns + bin_ * map_.bin_ns;
    until_ns_ = since_ns_ + map_.bin_ns;
  }

  const TimeMap& map_;
  std::uint64_t end_ns_;
  std::uint32_t bin_ = 0;              // that was asked for last,
  std::uint64_t since_ns_, until_ns_;  // and its time
};

/// Which context has most time in each bin of a row, added in the order of time: only one bin is open at
/// once.
class Places {
 public:
  /// Both by bin: the context, and what it has.
  void begin_row(std::vector<std::uint32_t>& contexts, std::vector<std::uint64_t>& most) {
    contexts_ = contexts.data();
    most_of_ = most.data();
    bin_ = kNothing;
  }
  /// `ns` is not 0.
  void spend(std::uint32_t bin, std::uint64_t ns, std::uint32_t context) {
    if (bin != bin_) {
      bin_ = bin;
      ++cell_;
      most_ = 0;
    }
    if (context >= spent_.size()) spent_.resize(context + std::size_t{1});
    spend(ns, context);
  }
  /// In the bin that is open; a context that something was spent in before, in whichever bin.
  void spend(std::uint64_t ns, std::uint32_t context) {
    Spent& spent = spent_[context];
    if (spent.cell != cell_) spent = {cell_, 0};
    ns = spent.ns += ns;
    if (ns < most_ || (ns == most_ && context > contexts_[bin_])) return;
    most_of_[bin_] = most_ = ns;
    contexts_[bin_] = context;
  }
  [[nodiscard]] bool knows(std::uint32_t context) const { return context < spent_.size(); }
  /// The one that is open; kNothing: none.
  [[nodiscard]] std::uint32_t bin() const { return bin_; }

 private:
  struct Spent {
    std::uint64_t cell = 0, ns = 0;
  };
  std::uint32_t* contexts_ = nullptr;
  std::uint64_t* most_of_ = nullptr;
  std::uint32_t bin_ = kNothing;       // that is open,
  std::uint64_t cell_ = 0, most_ = 0;  // how many were opened, and what its context has
  std::vector<Spent> spent_;           // by context: in the cell that it was last spent in
};

/// The time lines that count, one of each process.
std::vector<const TimeLine*> first_lines(const RankMap& rank_map, const Matched& matched) {
  std::vector<const TimeLine*> lines;
  for (const TimeLine& line : matched.store.lines()) {
    const bool first = rank_map.location_of(rank_map.rank_of(line.location), 0) == line.location;
    if (first && !line.events.empty()) lines.push_back(&line);
  }
  return lines;
}

/// The length of all ranks' time lines, in how many bins.
TimeMap bins_for(exchange::Communicator& analysis, const std::vector<const TimeLine*>& lines) {
  std::uint64_t first = ~std::uint64_t{0};
  std::uint64_t last = 0;
  for (const TimeLine* const line : lines) {
    first = std::min(first, line->events.front().enter_ns);
    last = std::max(last, line->events.back().exit_ns);
  }
  first = ~analysis.all_max(~first);
  last = analysis.all_max(last);
  const std::uint64_t rows = analysis.all_sum(lines.size());
  if (rows == 0 || last <= first) return {};
  const std::uint64_t wanted = std::clamp(kMostCells / rows, kLeastBins, kMostBins);
  TimeMap map;
  map.begin_ns = first;
  // Without additions: damaged clocks may be at the end of their range.
  map.bin_ns = (last - first - 1) / wanted + 1;
  map.bins = static_cast<std::uint32_t>((last - first - 1) / map.bin_ns + 1);
  return map;
}

/// Makes the rows of a map, one after the other.
class Rows {
 public:
  Rows(const TimeMap& map, const std::function<std::uint32_t(std::uint32_t)>& shown_at)
      : map_(map),
        shown_at_(shown_at),
        bins_(map),
        bins_of_waits_(map),
        waited_(kWaitPatterns * map.bins, 0) {}

  TimeMapRow row_of(const TimeLine& line, std::int32_t rank);

 private:
  /// How far a line is gone through.
  struct Passed {
    std::uint64_t at_ns = 0, left_ns = 0;                 // how far it is spent; when the last call was left
    std::uint64_t outside_ns = 0;                         // between calls
    std::uint64_t before_finalize_ns = TimeLine::kNever;  // the same, once MPI is finalized,
    std::uint64_t finalize_ns = TimeLine::kNever;         // when
  };

  void spend_samples(const TimeLine& line, std::uint32_t gap, std::uint64_t end);
  std::size_t spend_calls_in_bin(std::span<const Event> events, TimeMapRow& row);
  [[gnu::noinline]] void spend_call(const Event& event, TimeMapRow& row);
  void place_unsampled(const TimeLine& line, TimeMapRow& row);
  /// Until when calls lie in the bin that is open; 0: there is none, or calls overlap.
  [[nodiscard]] std::uint64_t open_until_ns() const {
    return places_.bin() == bins_.bin() && passed_.left_ns == passed_.at_ns ? bins_.until_ns() : 0;
  }
  std::vector<WaitInBin> waits_of(const TimeLine& line);
  std::uint32_t shown_at(std::uint32_t context) {
    if (context >= shown_.size()) shown_.resize(context + std::size_t{1}, kNothing);
    if (shown_[context] == kNothing) shown_[context] = shown_at_(context);
    return shown_[context];
  }

  const TimeMap& map_;
  const std::function<std::uint32_t(std::uint32_t)>& shown_at_;
  std::vector<std::uint32_t> shown_;  // by context, as far as asked for
  Bins bins_, bins_of_waits_;
  std::vector<std::uint64_t> waited_;  // by pattern and bin: nothing, between two rows
  std::vector<WaitInBin> found_;       // of one row, kept for its memory
  Places places_;
  /// What samples show of the code between calls in a bin: the last one, what it stands for, and what all
  /// have.
  struct Sampled {
    std::uint32_t context = kNothing;
    std::uint64_t stands_for_ns = 0, ns = 0;
  };
  // Of the line:
  std::vector<std::uint64_t> most_;  // by bin: what its context has
  std::vector<Sampled> sampled_;     // by bin
  std::size_t sample_ = 0;           // the next one
  Passed passed_;
};

/// Samples lie in their gap one after the other: each stands for the time before it.
void Rows::spend_samples(const TimeLine& line, std::uint32_t gap, std::uint64_t end) {
  std::uint64_t begin = passed_.at_ns;
  for (; sample_ < line.samples.size(); ++sample_) {
    const Sample sample = line.samples[sample_];
    if (sample.gap > gap) return;
    const std::uint64_t until = std::min(end, begin + sample.ns);
    bins_.visit(begin, until, [&](std::uint32_t bin, std::uint64_t ns) {
      places_.spend(bin, ns, sample.context);
      sampled_[bin] = {sample.context, sample.ns, sampled_[bin].ns + ns};
    });
    begin = std::max(begin, until);
  }
}

/// Any call: not in the loop over most of them, which so stays in registers.
void Rows::spend_call(const Event& event, TimeMapRow& row) {
  passed_.outside_ns += std::max(event.enter_ns, passed_.left_ns) - passed_.left_ns;
  passed_.left_ns = event.exit_ns;
  if (event.finalize && passed_.finalize_ns == TimeLine::kNever) {
    passed_.before_finalize_ns = passed_.outside_ns;
    passed_.finalize_ns = event.enter_ns;
  }
  const std::uint64_t begin = std::max(event.enter_ns, passed_.at_ns);
  passed_.at_ns = std::max(passed_.at_ns, event.exit_ns);
  const std::uint32_t context = shown_at(event.context);
  bins_.visit(begin, event.exit_ns, [&](std::uint32_t bin, std::uint64_t ns) {
    row.calls_ns[bin] += ns;
    places_.spend(bin, ns, context);
  });
}

/// Those that lie, as a whole, in the bin that is open, as most do: up to the first that does not, or has
/// samples in the gap before it. Returns how many.
std::size_t Rows::spend_calls_in_bin(std::span<const Event> events, TimeMapRow& row) {
  const std::uint64_t until_ns = open_until_ns();
  std::uint64_t at_ns = passed_.at_ns, calls_ns = 0, outside_ns = 0;
  std::size_t count = 0;
  for (; count < events.size(); ++count) {
    const Event& event = events[count];
    const std::uint64_t enter_ns = event.enter_ns, exit_ns = event.exit_ns;
    if (enter_ns < at_ns || enter_ns >= exit_ns || exit_ns > until_ns || event.sampled || event.finalize)
      break;
    const std::uint32_t context = event.context < shown_.size() ? shown_[event.context] : kNothing;
    if (!places_.knows(context)) break;
    places_.spend(exit_ns - enter_ns, context);
    calls_ns += exit_ns - enter_ns;
    outside_ns += enter_ns - at_ns;
    at_ns = exit_ns;
  }
  if (count == 0) return 0;
  row.calls_ns[bins_.bin()] += calls_ns;
  passed_.outside_ns += outside_ns;
  passed_.at_ns = passed_.left_ns = at_ns;
  return count;
}

/// Between many short calls most gaps have no sample, but together they are the rank's time: a bin with more
/// of them than of its context was in the code that is sampled next. Without this, bins of a rank that
/// computes in gaps below the time between samples would show its calls.
void Rows::place_unsampled(const TimeLine& line, TimeMapRow& row) {
  constexpr std::uint64_t kReach = 4;  // samples in between may have met calls
  if (line.samples.empty()) return;
  const std::uint64_t first_ns = line.events.front().enter_ns, last_ns = line.events.back().exit_ns;
  std::uint32_t next = kNothing;
  std::uint64_t left_ns = 0;  // of what that sample stands for
  for (std::uint32_t bin = map_.bins; bin-- > 0;) {
    const std::uint64_t since_ns = std::max(first_ns, map_.begin_ns + bin * map_.bin_ns);
    const std::uint64_t until_ns = std::min(last_ns, map_.begin_ns + bin * map_.bin_ns + map_.bin_ns);
    const Sampled& sampled = sampled_[bin];
    if (sampled.context != kNothing) {
      next = sampled.context;
      left_ns = kReach * sampled.stands_for_ns;
    }
    const std::uint64_t known_ns = row.calls_ns[bin] + sampled.ns;
    const std::uint64_t here_ns = until_ns - std::min(since_ns, until_ns);
    const std::uint64_t unsampled_ns = here_ns - std::min(known_ns, here_ns);
    if (unsampled_ns > most_[bin]) row.contexts[bin] = left_ns > 0 ? next : kNothing;
    left_ns -= std::min(left_ns, unsampled_ns);
  }
}

std::vector<WaitInBin> Rows::waits_of(const TimeLine& line) {
  std::array<bool, kWaitPatterns> occurs{};
  const auto add = [&](WaitPattern pattern, std::uint64_t begin_ns, std::uint64_t end_ns) {
    occurs[static_cast<std::size_t>(pattern)] = true;
    std::uint64_t* const waited = &waited_[static_cast<std::size_t>(pattern) * map_.bins];
    bins_of_waits_.visit(begin_ns, end_ns, [&](std::uint32_t bin, std::uint64_t ns) { waited[bin] += ns; });
  };
  line.waits.go_through([&](const Wait& wait) {
    add(wait.pattern, wait.until_ns - std::min(wait.ns, wait.until_ns), wait.until_ns);
  });
  line.thread_waits.go_through(
      [&](const ThreadWait& wait) { add(wait.pattern, wait.begin_ns, wait.end_ns); });
  found_.clear();
  for (std::size_t pattern = 0; pattern < occurs.size(); ++pattern) {
    for (std::uint32_t bin = 0; occurs[pattern] && bin < map_.bins; ++bin) {
      const std::uint64_t ns = std::exchange(waited_[pattern * map_.bins + bin], 0);
      if (ns != 0) found_.push_back({static_cast<WaitPattern>(pattern), bin, ns});
    }
  }
  return {found_.begin(), found_.end()};
}

TimeMapRow Rows::row_of(const TimeLine& line, std::int32_t rank) {
  TimeMapRow row{.rank = rank,
                 .calls_ns = std::vector<std::uint64_t>(map_.bins, 0),
                 .contexts = std::vector<std::uint32_t>(map_.bins, kNothing),
                 .waits = waits_of(line),
                 .segments = std::vector<SegmentsInBin>(map_.bins)};
  most_.assign(map_.bins, 0);
  sampled_.assign(map_.bins, {});
  places_.begin_row(row.contexts, most_);
  row.left_first_ns = line.events.front().exit_ns;
  row.left_last_ns = line.events.back().exit_ns;
  sample_ = 0;
  const std::uint64_t begin_ns = line.events.front().enter_ns;
  passed_ = {.at_ns = begin_ns, .left_ns = begin_ns};
  for (std::size_t call = 0; call < line.events.size();) {
    const std::span<const Event> events = line.events.together(call);
    const std::size_t in_bin = spend_calls_in_bin(events, row);
    call += in_bin;
    if (in_bin < events.size()) {
      const Event event = events[in_bin];  // looking at samples may move it
      if (event.sampled)
        spend_samples(line, static_cast<std::uint32_t>(call), std::max(event.enter_ns, passed_.at_ns));
      spend_call(event, row);
      ++call;
    }
    if (line.events.ends_together(call)) line.events.leave(call);
  }
  place_unsampled(line, row);
  row.outside_ns = std::min(passed_.before_finalize_ns, passed_.outside_ns);
  row.thread_waits_ns = thread_waits_in(line, begin_ns, std::min(passed_.finalize_ns, row.left_last_ns));
  return row;
}

/// Segments follow each other in time.
void place_segments(const TimeMap& map, const std::vector<Segment>& segments, TimeMapRow& row) {
  std::size_t first = 0;
  for (std::uint32_t bin = 0; bin < map.bins; ++bin) {
    const std::uint64_t begin = map.begin_ns + bin * map.bin_ns;
    while (first < segments.size() && segments[first].end_ns <= begin) ++first;
    std::size_t end = first;
    while (end < segments.size() && segments[end].begin_ns < begin + map.bin_ns) ++end;
    row.segments[bin] = {.first = static_cast<std::uint32_t>(first),
                         .count = static_cast<std::uint32_t>(end - first)};
  }
}

}  // namespace

void mark_critical(TimeMap& map, std::span<const MarkedTime> path) {
  std::map<std::int32_t, TimeMapRow*> rows;
  for (TimeMapRow& row : map.rows) rows.emplace(row.rank, &row);
  Bins bins(map);
  for (const MarkedTime& time : path) {
    const auto found = rows.find(time.rank);
    if (found == rows.end()) continue;
    std::vector<std::uint64_t>& critical = found->second->critical_ns;
    critical.resize(map.bins);
    bins.visit(time.begin_ns, time.end_ns, [&](std::uint32_t bin, std::uint64_t ns) { critical[bin] += ns; });
  }
}

void find_segments(TimeMap& map, const Variation& variation) {
  std::map<std::int32_t, const std::vector<Segment>*> of_rank;
  for (std::size_t row = 0; row < variation.rows.size(); ++row)
    of_rank.emplace(variation.ranks[row], &variation.rows[row]);
  for (TimeMapRow& row : map.rows) {
    if (const auto found = of_rank.find(row.rank); found != of_rank.end())
      place_segments(map, *found->second, row);
  }
}

TimeMap time_map(exchange::Communicator& analysis, const RankMap& rank_map, const Matched& matched,
                 const std::function<std::uint32_t(std::uint32_t)>& shown_at) {
  const std::vector<const TimeLine*> lines = first_lines(rank_map, matched);
  TimeMap map = bins_for(analysis, lines);
  if (map.bins == 0) return map;
  Rows rows(map, shown_at);
  for (const TimeLine* const line : lines)
    map.rows.push_back(rows.row_of(*line, rank_map.rank_of(line->location)));
  return map;
}

}  // namespace culprit::waits
