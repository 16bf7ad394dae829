#include "metrics/accumulator.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <boost/multiprecision/cpp_int.hpp>
#include <catch2/catch.hpp>
#include <rapidcheck.h>

using namespace culprit::metrics;
using Big = boost::multiprecision::cpp_int;
using Real = boost::multiprecision::cpp_bin_float_100;

namespace {

Accumulator accumulated(const std::vector<std::uint64_t>& values) {
  Accumulator a;
  for (const std::uint64_t x : values) a.accumulate(x);
  return a;
}

/// Standard deviation over `threads`, from the definition Σ(x − mean)²/T, with values missing from the list
/// as zeros.
Real reference_deviation(const std::vector<std::uint64_t>& values, std::uint64_t threads) {
  Real mean = 0;
  for (const std::uint64_t x : values) mean += x;
  mean /= threads;
  Real squares = mean * mean * (threads - values.size());
  for (const std::uint64_t x : values) squares += (Real(x) - mean) * (Real(x) - mean);
  return sqrt(squares / threads);
}

void require_close(double shown, const Real& exact) {
  const Real error = abs(Real(shown) - exact);
  RC_ASSERT(error <= abs(exact) * Real("2.3e-16"));
}

}  // namespace

TEST_CASE("accumulators are the same for every partition and order", "[accumulator]") {
  CHECK(rc::check([](std::vector<std::uint64_t> values) {
    const Accumulator expected = accumulated(values);
    const auto parts = *rc::gen::inRange<std::size_t>(1, 8);
    std::vector<Accumulator> partial(parts);
    for (const std::uint64_t x : values) partial[*rc::gen::inRange<std::size_t>(0, parts)].accumulate(x);
    while (partial.size() > 1) {  // combined in a random order too
      const auto from = *rc::gen::inRange<std::size_t>(0, partial.size());
      std::swap(partial[from], partial.back());
      const Accumulator last = partial.back();
      partial.pop_back();
      partial[*rc::gen::inRange<std::size_t>(0, partial.size())].combine(last);
    }
    RC_ASSERT(partial[0] == expected);
  }));
}

TEST_CASE("an accumulator without observers is the identity of combine", "[accumulator]") {
  CHECK(rc::check([](std::vector<std::uint64_t> values) {
    const Accumulator a = accumulated(values);
    Accumulator left = a, right;
    left.combine(Accumulator());
    right.combine(a);
    RC_ASSERT(left == a);
    RC_ASSERT(right == a);
  }));
}

TEST_CASE("statistics are those of the definition, to the last digit of a double", "[accumulator]") {
  CHECK(rc::check([] {
    const auto count = *rc::gen::inRange<std::size_t>(1, 40);
    const auto bits = *rc::gen::inRange(1, 60);
    const auto values = *rc::gen::container<std::vector<std::uint64_t>>(
        count, rc::gen::inRange<std::uint64_t>(1, 1ULL << bits));
    const std::uint64_t threads = count + *rc::gen::inRange<std::uint64_t>(0, 10);
    const Statistics s = finalize(accumulated(values), threads);
    Big sum = 0;
    for (const std::uint64_t x : values) sum += x;
    require_close(s.sum, Real(sum));
    require_close(s.mean, Real(sum) / threads);
    const Real deviation = reference_deviation(values, threads);
    if (deviation < Real("1e-60") * Real(sum)) {
      RC_ASSERT(s.stddev == 0);
    } else {
      require_close(s.stddev, deviation);
      require_close(s.cv, deviation * threads / Real(sum));
    }
    RC_ASSERT(s.min == static_cast<double>(*std::min_element(values.begin(), values.end())));
    RC_ASSERT(s.max == static_cast<double>(*std::max_element(values.begin(), values.end())));
    RC_ASSERT(s.count == count);
  }));
}

TEST_CASE("large values that differ little do not cancel", "[accumulator]") {
  // In doubles Σx²/n − (Σx/n)² of these is noise: x² has 120 bits, the variance 2.
  const std::uint64_t base = 1ULL << 60;
  const Statistics s = finalize(accumulated({base, base + 1, base + 2, base + 3, base + 4}), 5);
  CHECK(s.stddev == std::sqrt(2.0));
  CHECK(s.cv == Approx(std::sqrt(2.0) / static_cast<double>(base)).epsilon(1e-15));
}

TEST_CASE("the largest values that fit are exact", "[accumulator]") {
  const std::uint64_t most = ~0ULL;
  Accumulator a;
  a.accumulate(most);
  CHECK(finalize(a, 1).stddev == 0);
  CHECK(finalize(a, 1).mean == static_cast<double>(most));
  CHECK(finalize(a, 2).cv == 1.0);
}

TEST_CASE("edge cases of finalize", "[accumulator]") {
  const Accumulator none;
  for (const std::uint64_t threads : {0U, 1U, 5U}) {
    for (const Statistics& s : {finalize(none, threads), finalize_over_all(none, threads)}) {
      CHECK((s.sum == 0 && s.mean == 0 && s.min == 0 && s.max == 0 && s.stddev == 0 && s.cv == 0 &&
             s.count == 0));
    }
  }
  const Accumulator two = accumulated({4, 8});
  const Statistics nobody = finalize(two, 0);
  CHECK((nobody.sum == 0 && nobody.count == 0 && nobody.max == 0));
  CHECK(finalize(two, 2).min == 4);
  CHECK(finalize_over_all(two, 2).min == 4);
  CHECK(finalize(two, 3).min == 4);           // the minimum observation
  CHECK(finalize_over_all(two, 3).min == 0);  // the third thread has 0
  CHECK(finalize(two, 3).mean == 4);
  CHECK(finalize(two, 3).stddev == Approx(std::sqrt(32.0 / 3)));
  const Statistics zeros = finalize(accumulated({0, 0}), 2);  // observed, but nothing: a mean of 0 has no CV
  CHECK((zeros.mean == 0 && zeros.cv == 0 && zeros.stddev == 0 && zeros.count == 2));
  CHECK(finalize(two, 1).stddev == 0);  // more observers than threads: only in a damaged file
}
