// Finds the value at one place of all ranks' values in order, such as the median (docs/algorithms.md 9),
// without sorting or moving them. Each round takes a random sample of about 1024 values of all ranks,
// brackets the place by two of them, counts own values below, at and between these, and keeps those where the
// place is, mostly an eighth. Brackets narrow until one value is certain to go, so rounds end for any values.
// Cost: a few passes over the own values and four sums per round.
#include "exchange/order_statistic.hpp"

#include "exchange/message_exchange.hpp"
#include "storage/hash.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace culprit::exchange {

namespace {

using Values = std::span<const std::uint64_t>;

/// About how many of all ranks' values each rank gets as a sample.
constexpr std::uint64_t kSampled = 1024;
/// How far from its place in the sample what is looked for lies at most, almost always: four times what such
/// places deviate by. Each round takes a quarter of it, and from the fifth on a single value: one is certain
/// to go then, so that rounds end, also where they divided nothing because most values are alike.
constexpr std::uint64_t kSpread = 64;

/// The values from `least` to `most`.
struct Bracket {
  std::uint64_t least = 0, most = std::numeric_limits<std::uint64_t>::max();

  [[nodiscard]] bool holds(std::uint64_t value) const { return value - least <= most - least; }
};

/// How many values there are below a bracket and in it, on its ends and between them.
struct Counts {
  std::uint64_t below = 0, least = 0, between = 0, most = 0;
};

/// One in this many of all ranks' `count` values, or all where they are few; in order. They are taken at
/// random, so that no order in which the values lie is a bad one.
std::vector<std::uint64_t> sample_of(Communicator& analysis, Values values, std::uint64_t count,
                                     std::uint64_t round) {
  const std::uint64_t stride = (count + kSampled - 1) / kSampled;
  const std::uint64_t seed = storage::hash_of(round, static_cast<std::uint64_t>(analysis.rank()));
  std::vector<std::uint64_t> own;
  for (std::uint64_t at = 0; at < values.size(); at += stride) {
    const std::uint64_t place = at + storage::hash_of(at, seed) % stride;
    if (place < values.size()) own.push_back(values[place]);
  }
  std::vector<std::uint64_t> sample = items_of_all<std::uint64_t>(analysis, own);
  std::sort(sample.begin(), sample.end());
  return sample;
}

/// What the sample has up to `spread` of its values away from where it has `share` of them below.
Bracket around(Values sample, double share, std::uint64_t spread) {
  Bracket bracket;
  if (sample.empty()) return bracket;
  const std::uint64_t last = sample.size() - 1;
  const std::uint64_t middle =
      std::min(static_cast<std::uint64_t>(share * static_cast<double>(sample.size())), last);
  if (middle >= spread) bracket.least = sample[middle - spread];
  if (middle + spread <= last) bracket.most = sample[middle + spread];
  return bracket;
}

/// The ends by themselves: where few values differ, most of them are one of these, and it is found at once.
Counts counts_of(Values values, const Bracket& bracket) {
  std::uint64_t below = 0, inside = 0, least = 0, most = 0;
  for (const std::uint64_t value : values) {
    below += value < bracket.least ? 1 : 0;
    inside += bracket.holds(value) ? 1 : 0;
    least += value == bracket.least ? 1 : 0;
    most += value == bracket.most ? 1 : 0;
  }
  if (bracket.least == bracket.most) most = 0;
  return {below, least, inside - least - most, most};
}

/// Those in the bracket, `count`. Without branches, since which way one goes cannot be guessed.
std::vector<std::uint64_t> kept_of(Values values, const Bracket& bracket, std::size_t count) {
  std::vector<std::uint64_t> kept(count + 1);
  std::size_t end = 0;
  for (const std::uint64_t value : values) {
    kept[end] = value;
    end += bracket.holds(value) ? 1 : 0;
  }
  kept.pop_back();
  return kept;
}

}  // namespace

std::uint64_t order_statistic(Communicator& analysis, Values values, std::uint64_t place) {
  std::vector<std::uint64_t> kept;
  std::uint64_t spread = kSpread;
  for (std::uint64_t round = 0;; ++round, spread /= 4) {
    const std::uint64_t count = analysis.all_sum(values.size());
    const std::vector<std::uint64_t> sample = sample_of(analysis, values, count, round);
    if (count <= kSampled) return sample[place];
    Bracket bracket = around(sample, static_cast<double>(place) / static_cast<double>(count), spread);
    const Counts own = counts_of(values, bracket);
    const Counts all{analysis.all_sum(own.below), analysis.all_sum(own.least), analysis.all_sum(own.between),
                     analysis.all_sum(own.most)};
    const std::uint64_t since = all.below + all.least, until = since + all.between;
    std::size_t left = own.between;
    if (place < all.below) {
      bracket = {.least = 0, .most = bracket.least - 1};
      left = own.below;
    } else if (place < since) {
      return bracket.least;
    } else if (place < until) {
      place -= since;
      bracket = {.least = bracket.least + 1, .most = bracket.most - 1};
    } else if (place < until + all.most) {
      return bracket.most;
    } else {
      left = values.size() - own.below - own.least - own.between - own.most;
      place -= until + all.most;
      bracket = {.least = bracket.most + 1};
    }
    kept = kept_of(values, bracket, left);
    values = kept;
  }
}

}  // namespace culprit::exchange
