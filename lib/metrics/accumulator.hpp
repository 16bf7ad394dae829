#pragma once

#include <cstdint>
#include <limits>
#include <span>

namespace culprit::metrics {

__extension__ using Uint128 = unsigned __int128;

/// Summary of one metric at one context over the threads that observed it (Tallent 2010, Algorithm 1). Exact:
/// integers only, so combining is associative and commutative and gives the same bytes for any partition.
/// The values are nanoseconds or event counts; Σx² cannot overflow below 2^60 ns and 2^8 threads of that
/// length.
struct Accumulator {
  std::uint64_t observers = 0;                                    ///< n(x)
  Uint128 sum = 0;                                                ///< Σx
  Uint128 sum_of_squares = 0;                                     ///< Σx²
  std::uint64_t min = std::numeric_limits<std::uint64_t>::max();  ///< over observers; the identity when none
  std::uint64_t max = 0;                                          ///< over observers

  constexpr void accumulate(std::uint64_t x) {
    ++observers;
    sum += x;
    sum_of_squares += static_cast<Uint128>(x) * x;
    min = x < min ? x : min;
    max = x > max ? x : max;
  }

  /// Each of `values` that is not zero.
  void accumulate(std::span<const std::uint64_t> values);

  constexpr void combine(const Accumulator& other) {
    observers += other.observers;
    sum += other.sum;
    sum_of_squares += other.sum_of_squares;
    min = other.min < min ? other.min : min;
    max = other.max > max ? other.max : max;
  }

  friend constexpr bool operator==(const Accumulator&, const Accumulator&) = default;
};

/// The statistics shown for a summary over `threads` = T threads of one role (docs/algorithms.md 2). Division
/// happens here and nowhere else. Mean, standard deviation (population) and CV are over all T; min is the
/// minimum *observation*.
struct Statistics {
  double sum = 0, mean = 0, min = 0, max = 0, stddev = 0, cv = 0;
  std::uint64_t count = 0;  ///< observers
};

/// Finalizes `a` over `threads` threads; n·Σx² − (Σx)² is formed exactly in 256 bits. T = 0 gives all zeros.
Statistics finalize(const Accumulator& a, std::uint64_t threads);

/// As finalize, but min is over all T: 0 where some thread observed nothing (idleness; docs/algorithms.md 2).
Statistics finalize_over_all(const Accumulator& a, std::uint64_t threads);

}  // namespace culprit::metrics
