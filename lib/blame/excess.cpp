// Divides the late threads' excess among the parts of a balanced scope (ours; docs/algorithms.md 5.4). All
// wait for the last thread; each stretch of its excess is shared by the threads that are late by as much (the
// Shapley value of a maximum, Littlechild 1973), so that few very late threads count for more than many
// slightly late ones. Each part offers its own excess over the mean, times the slope of the scope's work over
// the part's, which is what its siblings do not compensate. Offers alone tie innocent code that has a
// counterpart under another name elsewhere with the true cause; so among the largest offers the part is taken
// whose removal leaves the scope most even. Cost: work per thread of the parts whose spread, known from the
// summaries, allows for a large offer.
#include "blame/excess.hpp"

#include "blame/role_facts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace culprit::blame {
namespace {

/// Offers within this share of the largest count as equally large.
constexpr double kBand = 0.2;
/// A slope is that over what varies beyond sampling noise, but at least over this share of all.
constexpr double kLeastReliable = 0.2;
/// Equal work takes threads times that differ by this share of it, as a standard deviation.
constexpr double kNatural = 0.003;
/// Mean of max(0, noise) in standard errors: 1/√(2π).
constexpr double kNoiseExcess = 0.3989;

}  // namespace

void Late::weigh(std::size_t compared) {
  std::vector<std::size_t> order(threads.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(excess[i], i); });
  weight.resize(threads.size());
  double below = 0, caused = 0;
  for (std::size_t passed = 0; passed < order.size(); ++passed) {
    const double own = excess[order[passed]];
    caused += static_cast<double>(compared) * (own - below) / static_cast<double>(order.size() - passed);
    weight[order[passed]] = caused / own;
    below = own;
  }
}

double Late::waiting(const PerLate& values) const {
  return std::inner_product(values.begin(), values.end(), weight.begin(), 0.0);
}

double Late::waiting(const Excess& e) const {
  double sum = 0;
  for (std::size_t i = 0; i < weight.size(); ++i) sum += weight[i] * without_noise(e, i);
  return sum;
}

double Late::error(std::span<const std::size_t> of) const {
  double sum = 0;
  for (const std::size_t i : of) sum += weight[i] * weight[i];
  return std::sqrt(sum);
}

double Late::error() const {
  return std::sqrt(std::inner_product(weight.begin(), weight.end(), weight.begin(), 0.0));
}

double mean_of(std::span<const std::uint64_t> work) {
  const auto sum = std::accumulate(work.begin(), work.end(), metrics::Uint128{0});
  return static_cast<double>(sum) / static_cast<double>(work.size());
}

namespace {

PerLate capped(const PerLate& values, const PerLate& caps) {
  PerLate result(values.size());
  std::ranges::transform(values, caps, result.begin(),
                         [](double value, double cap) { return std::min(value, cap); });
  return result;
}

/// More waiting than a part's excess can make: by Cauchy and Schwarz, and as if one thread did all of its
/// work. Costs nothing, where asking for the work does.
double most_waiting(const Part& part, const Late& late, std::uint32_t threads) {
  constexpr double kRounding = 1 + 1e-6;
  return kRounding * std::min(std::ranges::max(late.weight) * static_cast<double>(part.work),
                              late.error() * std::sqrt(static_cast<double>(threads)) * part.spread);
}

}  // namespace

/// What a part could be given.
struct Division::Offer {
  std::size_t part = 0;
  PerLate excess;    ///< max(0, W(c, t) − mean)
  double sum = 0;    ///< waiting made by slope · excess, as far as something is left
  double error = 0;  ///< standard error of one thread's work
  double jitter = 0;
  double sum_error = 0;
  double unevenness = 0;  ///< Σ over threads of the rest's squared deviations, without the part
};

double without_noise(const Excess& e, std::size_t late) {
  return std::max(0.0, e.by_thread[late] - kNoiseExcess * e.error);
}

double jitter_of(double error, double mean) {
  return std::hypot(error, kNatural * mean);
}

std::span<const std::uint64_t> Work::of(const Ranges& ranges, const Ranges& within) const {
  const std::span<const std::uint64_t> work = values_.work(ranges, within);
  if (work.size() != role_.threads)
    throw std::invalid_argument("work is not given for every compared thread");
  return work;
}

std::span<const std::uint64_t> Work::idleness(database::ContextId x) const {
  const std::span<const std::uint64_t> idleness = values_.idleness(x);
  if (idleness.size() != role_.threads)
    throw std::invalid_argument("idleness is not given for every compared thread");
  return idleness;
}

double Work::error(database::ContextId x) const {
  return std::sqrt(sampling_variance(role_, x, period_ns_));
}

double Work::error(const Part& part) const {
  const double share = static_cast<double>(part.work) / std::max(1.0, static_cast<double>(role_.time[0].sum));
  return std::sqrt(
      sampling_variance(part.weight_sq, part.blocked, part.covered, share, role_.threads, period_ns_));
}

Division::Offer Division::offer_of(const Part& part, const Ranges& within, const PerLate& left,
                                   const Rest& rest) const {
  Offer offer;
  const std::span<const std::uint64_t> values = work_.of(part.ranges, within);
  const double mean = mean_of(values);
  offer.error = work_.error(part);
  offer.jitter = jitter_of(offer.error, mean);
  double variance = 0;
  double covariance = 0;
  double before = 0;
  for (std::size_t t = 0; t < rest.size(); ++t) {
    const double deviation = static_cast<double>(values[t]) - mean;
    variance += deviation * deviation;
    covariance += deviation * rest[t];
    before += rest[t] * rest[t];
  }
  const double noise = offer.error * offer.error * static_cast<double>(rest.size());
  const double reliable = std::max(variance - noise, kLeastReliable * variance);
  const double slope = variance == 0 ? 0 : std::clamp(covariance / reliable, 0.0, 1.0);
  offer.unevenness = std::max(0.0, before - 2 * covariance + variance);
  offer.sum_error = slope * offer.error * late_.error();
  offer.excess.resize(left.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    offer.excess[i] = std::max(0.0, static_cast<double>(values[late_.threads[i]]) - mean);
    offer.sum += late_.weight[i] * std::min(slope * offer.excess[i], left[i]);
  }
  return offer;
}

/// The offer to accept, and its margin.
std::pair<std::size_t, double> Division::choose(const std::vector<Offer>& offers) {
  const auto largest = std::ranges::max_element(offers, {}, &Offer::sum);
  const auto as_large = [&](const Offer& offer) {
    return offer.sum >= (1 - kBand) * largest->sum ||
           offer.sum >= largest->sum - std::hypot(offer.sum_error, largest->sum_error);
  };
  const Offer* chosen = nullptr;
  const Offer* rival = nullptr;
  for (const Offer& offer : offers) {
    if (!as_large(offer)) continue;
    if (chosen == nullptr || offer.unevenness < chosen->unevenness) {
      rival = std::exchange(chosen, &offer);
    } else if (rival == nullptr || offer.unevenness < rival->unevenness) {
      rival = &offer;
    }
  }
  double margin = std::numeric_limits<double>::infinity();
  if (rival != nullptr) {
    const double further = std::sqrt(rival->unevenness) - std::sqrt(chosen->unevenness);
    margin = further > 0 ? further / std::hypot(chosen->jitter, rival->jitter) : 0;
  }
  return {static_cast<std::size_t>(chosen - offers.data()), margin};
}

/// The offers of `least` or more; parts that can never make one are erased.
std::vector<Division::Offer> Division::offers(std::vector<Part>& parts, const Ranges& within,
                                              const PerLate& left, const Rest& rest, double least) const {
  std::vector<Offer> offers;
  std::vector<Part> kept;
  for (Part& part : parts) {
    Offer offer = offer_of(part, within, left, rest);
    if (late_.waiting(capped(offer.excess, left)) < least) continue;  // nor will it be more with less left
    offer.part = kept.size();
    kept.push_back(std::move(part));
    if (offer.sum >= least) offers.push_back(std::move(offer));
  }
  parts = std::move(kept);
  return offers;
}

void Division::among(std::vector<Part> parts, const Ranges& within, PerLate left, const Rest& rest,
                     double least, const Take& take) const {
  std::erase_if(parts, [&](const Part& part) { return most_waiting(part, late_, work_.threads()) < least; });
  Rest without;  // what was taken so far
  while (late_.waiting(left) >= least) {
    const Rest& now = without.empty() ? rest : without;
    std::vector<Offer> made = offers(parts, within, left, now, least);
    if (made.empty()) return;
    const auto [index, margin] = choose(made);
    Offer& chosen = made[index];
    const Part part = parts[chosen.part];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(chosen.part));
    PerLate given = capped(chosen.excess, left);
    std::ranges::transform(left, given, left.begin(), std::minus());
    const Excess excess{.part = part,
                        .by_thread = std::move(given),
                        .error = chosen.error,
                        .jitter = chosen.jitter,
                        .margin = margin};
    if (!take(excess, now) || parts.empty()) return;
    if (without.empty()) without = rest;
    const std::span<const std::uint64_t> values = work_.of(part.ranges, within);
    const double mean = mean_of(values);
    for (std::size_t t = 0; t < without.size(); ++t) without[t] -= static_cast<double>(values[t]) - mean;
  }
}

}  // namespace culprit::blame
