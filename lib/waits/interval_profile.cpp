#include "waits/interval_profile.hpp"

#include <algorithm>
#include <tuple>

namespace culprit::waits {

namespace {

constexpr std::uint64_t kNever = ~std::uint64_t{0};

}  // namespace

void IntervalProfile::clear() {
  wholes_.clear();
  samples_.clear();
  if (++round_ == 0) {  // it went round: no slot may look like one of this round
    slots_.assign(slots_.size(), {});
    round_ = 1;
  }
}

void IntervalProfile::add(const TimeLine& line, std::uint32_t first, std::uint32_t last) {
  if (first >= last) return;
  std::uint64_t before_ns = first == 0 ? kNever : line.events[first - 1].exit_ns;
  for (std::uint32_t call = first; call < last;) {
    const std::span<const Event> events = line.events.together(call);
    const std::uint32_t until =
        call + static_cast<std::uint32_t>(std::min<std::size_t>(events.size(), last - call));
    for (const Event* at = events.data(); call < until;) {
      const Event event = *at++;
      add_gap(line, call++, event, before_ns);
      add_call(line, event, pieces_.of_call(event.context));
      before_ns = event.exit_ns;
      // Those took other sequences to tell: the events may be elsewhere now.
      if (event.sampled || event.wait == Event::kLongWait) break;
    }
  }
}

void IntervalProfile::add_gap(const TimeLine& line, std::uint32_t call) {
  if (call > 0) add_gap(line, call, line.events[call], line.events[call - 1].exit_ns);
}

void IntervalProfile::add_gap(const TimeLine& line, std::uint32_t call, const Event& event,
                              std::uint64_t before_ns) {
  if (event.enter_ns <= before_ns) return;
  add_whole(event.gap, event.enter_ns - before_ns);
  if (event.sampled) add_samples(line, call);
}

void IntervalProfile::add_call(const TimeLine& line, const Event& event, std::uint32_t piece) {
  const std::uint64_t ns = event.exit_ns - event.enter_ns;
  const std::uint64_t wait = wait_of(line, event);
  if (ns > wait) add_whole(piece, ns - wait);
}

void IntervalProfile::add_samples(const TimeLine& line, std::uint32_t gap) {
  const std::uint32_t piece = line.events[gap].gap;
  for_samples(line, gap, [&](const Sample& sample) {
    samples_.push_back({.piece = piece, .context = sample.context, .ns = sample.ns});
  });
}

void IntervalProfile::merge_samples() {
  std::sort(samples_.begin(), samples_.end(), [](const PieceTime& a, const PieceTime& b) {
    return std::tuple(a.piece, a.context) < std::tuple(b.piece, b.context);
  });
  std::size_t sums = 0;
  for (const PieceTime& time : samples_) {
    if (sums > 0 && samples_[sums - 1].piece == time.piece && samples_[sums - 1].context == time.context) {
      samples_[sums - 1].ns += time.ns;
    } else {
      samples_[sums++] = time;
    }
  }
  samples_.resize(sums);
}

std::uint64_t wait_of(const TimeLine& line, const Event& event) {
  return event.wait == Event::kLongWait ? line.waits[event.waits].ns : event.wait;
}

LongLine::LongLine(const TimeLine& line, const Pieces& pieces, Spill& spill) : line_(line) {
  IntervalProfile profile(pieces);
  std::uint64_t calls = kCalls;
  do {
    levels_.push_back({.calls = static_cast<std::uint32_t>(calls), .times = Sequence<PieceTime>(spill)});
    build(levels_.size() - 1, profile);
    calls *= kWider;
  } while (calls <= line.events.size());
}

void LongLine::build(std::size_t at, IntervalProfile& profile) {
  Level& level = levels_[at];
  const auto count = static_cast<std::uint32_t>(line_.events.size());
  for (std::uint32_t first = 0; count - first >= level.calls; first += level.calls) {
    profile.clear();
    if (at == 0) {
      profile.add(line_, first, first + level.calls);
    } else {
      const Level& narrower = levels_[at - 1];
      for (std::uint32_t i = 0; i < kWider; ++i) add_sum(narrower, first / narrower.calls + i, profile);
    }
    profile.merge_samples();
    for (const PieceTime& time : profile.wholes()) level.times.push_back(time);
    for (const PieceTime& time : profile.samples()) level.times.push_back(time);
    level.begin.push_back(level.times.size());
  }
}

void LongLine::add_sum(const Level& level, std::uint32_t sum, IntervalProfile& profile) {
  for (std::uint64_t i = level.begin[sum]; i < level.begin[sum + 1]; ++i) profile.add(level.times[i]);
}

void LongLine::add(std::uint32_t first, std::uint32_t last, IntervalProfile& profile) const {
  while (first < last) {
    // The widest sum that begins here and ends in time.
    const Level* widest = nullptr;
    for (const Level& level : levels_) {
      if (first % level.calls != 0 || last - first < level.calls) break;
      widest = &level;
    }
    if (widest == nullptr) {
      const std::uint32_t until = std::min(last, first - first % kCalls + kCalls);
      profile.add(line_, first, until);
      first = until;
    } else {
      add_sum(*widest, first / widest->calls, profile);
      first += widest->calls;
    }
  }
}

}  // namespace culprit::waits
