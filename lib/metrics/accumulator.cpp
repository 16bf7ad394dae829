// Sum, mean, min, max, standard deviation and CV over the threads of a role (Tallent 2010, Algorithm 1;
// docs/algorithms.md 2). n, Σx and Σx² are exact integers of 128 bits, so accumulators combine in any order
// to the same bytes; T·Σx² − (Σx)² is formed in 256 bits, and rounding happens once, when a number is shown.
// (The textbook formula in floating point cancels, and depends on the order.) Cost: a few additions and a
// multiplication per value.
#include "metrics/accumulator.hpp"

#include <cmath>

#include <boost/multiprecision/cpp_int.hpp>

namespace culprit::metrics {
namespace {

using Wide = boost::multiprecision::uint256_t;

Wide widen(Uint128 value) {
  return (Wide(static_cast<std::uint64_t>(value >> 64)) << 64) | Wide(static_cast<std::uint64_t>(value));
}

/// The leading 64 bits, scaled: within one unit of a long double's last place, so that what is shown is right
/// to the last digit of a double.
long double leading_bits(const Wide& value) {
  if (value == 0) return 0;
  const auto top = static_cast<int>(boost::multiprecision::msb(value));
  const int shift = top > 63 ? top - 63 : 0;
  return std::ldexp(static_cast<long double>(static_cast<std::uint64_t>(value >> shift)), shift);
}

/// sqrt(T·Σx² − (Σx)²) = T · (standard deviation over T). Zero where the parts contradict each other, as they
/// can only in a damaged file: observers beyond T.
long double scaled_deviation(const Accumulator& a, std::uint64_t threads) {
  const Wide sum = widen(a.sum);
  const Wide left = Wide(threads) * widen(a.sum_of_squares);
  const Wide right = sum * sum;
  return left > right ? std::sqrt(leading_bits(left - right)) : 0;
}

}  // namespace

// Without branches on the values, in registers: zero adds nothing, and is the largest number once one is
// subtracted.
void Accumulator::accumulate(std::span<const std::uint64_t> values) {
  std::uint64_t seen = 0, least_below = std::numeric_limits<std::uint64_t>::max(), most = 0;
  Uint128 total = 0, squares = 0;
  for (const std::uint64_t x : values) {
    seen += x != 0 ? 1 : 0;
    total += x;
    squares += static_cast<Uint128>(x) * x;
    least_below = x - 1 < least_below ? x - 1 : least_below;
    most = x > most ? x : most;
  }
  if (seen == 0) return;
  combine({.observers = seen, .sum = total, .sum_of_squares = squares, .min = least_below + 1, .max = most});
}

Statistics finalize(const Accumulator& a, std::uint64_t threads) {
  Statistics statistics;
  if (threads == 0) return statistics;
  const long double sum = leading_bits(widen(a.sum));
  const long double deviation = scaled_deviation(a, threads);
  const auto all = static_cast<long double>(threads);
  statistics.sum = static_cast<double>(sum);
  statistics.mean = static_cast<double>(sum / all);
  statistics.min = a.observers == 0 ? 0 : static_cast<double>(a.min);
  statistics.max = static_cast<double>(a.max);
  statistics.stddev = static_cast<double>(deviation / all);
  statistics.cv = sum > 0 ? static_cast<double>(deviation / sum) : 0;
  statistics.count = a.observers;
  return statistics;
}

Statistics finalize_over_all(const Accumulator& a, std::uint64_t threads) {
  Statistics statistics = finalize(a, threads);
  if (a.observers < threads) statistics.min = 0;
  return statistics;
}

}  // namespace culprit::metrics
