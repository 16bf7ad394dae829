// Delayers' intervals that were asked for last. All who wait for one call of a collective, and both
// neighbours of a late rank, mostly synchronized with it in the same collective before, so intervals that
// begin in a collective are put together once and kept in a table of 1024 by hash, small ones only (20
// regions, 4 samples).
#include "waits/causes/causer_intervals.hpp"

#include <algorithm>

namespace culprit::waits {

CauserInterval CauserIntervals::find(const Key& key, ComparedLine& line, const Burden& burden) {
  if (key.context == 0) return put_together(key, line, burden);
  Kept& kept = kept_[key.hash() % kept_.size()];
  if (kept.key == key) {
    return {.times = std::span(kept.all_times).first(kept.times),
            .samples = std::span(kept.all_samples).first(kept.samples),
            .waits = kept.waits,
            .waits_ns = kept.waits_ns,
            .met_piece = kept.met_piece};
  }
  CauserInterval found = put_together(key, line, burden);
  if (found.times.size() > kMostTimes || found.samples.size() > kMostSamples) return found;
  std::copy(found.times.begin(), found.times.end(), kept.all_times.begin());
  std::copy(found.samples.begin(), found.samples.end(), kept.all_samples.begin());
  kept.key = key;
  kept.waits_ns = found.waits_ns;
  kept.waits = found.waits;
  kept.met_piece = found.met_piece;
  kept.times = static_cast<std::uint16_t>(found.times.size());
  kept.samples = static_cast<std::uint16_t>(found.samples.size());
  found.times = std::span(kept.all_times).first(kept.times);
  return found;
}

CauserInterval CauserIntervals::put_together(const Key& key, ComparedLine& line, const Burden& burden) {
  const Interval interval =
      line.of_cause({.context = key.context, .other = key.other, .other_as = key.other_as}, key.cause.index,
                    key.cause_ends);
  profile_.clear();
  line.add(interval, profile_);
  times_.clear();
  for (const std::uint32_t piece : profile_.pieces())
    times_.push_back({.piece = piece, .ns = profile_.of(piece)});
  const auto [first, last] = line.waits(interval);
  const Burden::Range waits{first, last};
  return {.times = times_,
          .samples = profile_.samples(),
          .waits = waits,
          .waits_ns = burden.length(waits),
          .met_piece = interval.first > 0 ? line.known_piece(pieces_.met(), interval) : pieces_.met()};
}

}  // namespace culprit::waits
