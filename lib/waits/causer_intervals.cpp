#include "waits/causer_intervals.hpp"

#include <algorithm>

namespace culprit::waits {

CauserInterval CauserIntervals::find(const Key& key, ComparedLine& line, const Burden& burden) {
  Kept& kept = kept_[hash_of(joined(key.cause.location, key.cause.index), key.other) % kept_.size()];
  if (kept.key == key) {
    return {.times = std::span(kept.all_times).first(kept.times),
            .samples = std::span(kept.all_samples).first(kept.samples),
            .waits = kept.waits,
            .waits_ns = kept.waits_ns,
            .met_piece = kept.met_piece};
  }
  const Interval interval =
      line.of_cause({.context = key.context, .other = key.other, .other_as = key.other_as}, key.cause.index,
                    key.cause_ends);
  profile_.clear();
  line.add(interval, profile_);
  const auto [first, last] = line.waits(interval);
  CauserInterval found;
  found.waits = {first, last};
  found.waits_ns = burden.length(found.waits);
  found.met_piece = interval.first > 0 ? line.known_piece(pieces_.met(), interval) : pieces_.met();
  const std::size_t count = profile_.pieces().size();
  const bool keep = count <= kMostTimes && profile_.samples().size() <= kMostSamples;
  if (!keep) times_.resize(std::max(count, times_.size()));
  found.times = (keep ? std::span<CauserInterval::Time>(kept.all_times) : std::span(times_)).first(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t piece = profile_.pieces()[i];
    found.times[i] = {.piece = piece, .ns = profile_.of(piece)};
  }
  found.samples = profile_.samples();
  if (!keep) return found;
  std::copy(found.samples.begin(), found.samples.end(), kept.all_samples.begin());
  kept.key = key;
  kept.waits_ns = found.waits_ns;
  kept.waits = found.waits;
  kept.met_piece = found.met_piece;
  kept.times = static_cast<std::uint16_t>(count);
  kept.samples = static_cast<std::uint16_t>(found.samples.size());
  return found;
}

}  // namespace culprit::waits
