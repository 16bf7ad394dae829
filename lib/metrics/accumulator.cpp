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

/// digits · 2^exponent, the highest bit of `digits` set but in zero. 64 bits are enough for a double's last
/// digit to be right, and each processor rounds them alike; long double has another length on each.
struct Real {
  std::uint64_t digits = 0;
  int exponent = 0;
};

Real leading_bits(const Wide& value) {
  if (value == 0) return {};
  const int exponent = static_cast<int>(boost::multiprecision::msb(value)) - 63;
  return {static_cast<std::uint64_t>(exponent < 0 ? value << -exponent : value >> exponent), exponent};
}

Real quotient(Real a, Real b) {
  if (a.digits == 0) return {};
  const int shift = a.digits < b.digits ? 64 : 63;
  const Uint128 numerator = static_cast<Uint128>(a.digits) << shift;
  auto digits = static_cast<std::uint64_t>(numerator / b.digits);
  const auto rest = static_cast<std::uint64_t>(numerator - static_cast<Uint128>(digits) * b.digits);
  const std::uint64_t missing = b.digits - rest;
  if (rest > missing || (rest == missing && digits % 2 == 1)) ++digits;
  return {digits, a.exponent - b.exponent - shift};
}

Real square_root(Real a) {
  if (a.digits == 0) return {};
  const int shift = a.exponent % 2 == 0 ? 64 : 63;
  const Uint128 square = static_cast<Uint128>(a.digits) << shift;
  // One step of Newton's after the square root of a double: not below the root, and at most one above it.
  auto root = static_cast<Uint128>(std::sqrt(static_cast<double>(square)));
  root = (root + square / root) / 2;
  while (square / root < root) --root;
  if (square - root * root > root) ++root;
  return {static_cast<std::uint64_t>(root), (a.exponent - shift) / 2};
}

double to_double(Real a) {
  return std::ldexp(static_cast<double>(a.digits), a.exponent);
}

/// sqrt(T·Σx² − (Σx)²) = T · (standard deviation over T). Zero where the parts contradict each other, as they
/// can only in a damaged file: observers beyond T.
Real scaled_deviation(const Accumulator& a, std::uint64_t threads) {
  const Wide sum = widen(a.sum);
  const Wide left = Wide(threads) * widen(a.sum_of_squares);
  const Wide right = sum * sum;
  return left > right ? square_root(leading_bits(left - right)) : Real();
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
  const Real sum = leading_bits(widen(a.sum));
  const Real deviation = scaled_deviation(a, threads);
  const Real all = leading_bits(threads);
  statistics.sum = to_double(sum);
  statistics.mean = to_double(quotient(sum, all));
  statistics.min = a.observers == 0 ? 0 : static_cast<double>(a.min);
  statistics.max = static_cast<double>(a.max);
  statistics.stddev = to_double(quotient(deviation, all));
  statistics.cv = sum.digits > 0 ? to_double(quotient(deviation, sum)) : 0;
  statistics.count = a.observers;
  return statistics;
}

Statistics finalize_over_all(const Accumulator& a, std::uint64_t threads) {
  Statistics statistics = finalize(a, threads);
  if (a.observers < threads) statistics.min = 0;
  return statistics;
}

}  // namespace culprit::metrics
