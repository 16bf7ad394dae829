#pragma once

#include "database/database.hpp"
#include "metrics/accumulator.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <tuple>
#include <vector>

namespace culprit::blame {

/// What stamps show of the gaps of one role between two calls, over its threads; plain bytes. Sums only, so
/// that those of several ranks of the analysis add up.
struct GapSums {
  /// For `after`: all gaps that end at a call, whatever came before.
  static constexpr database::ContextId kAny = database::kNone - 1;

  std::uint32_t role = 0;
  database::ContextId context = 0;  ///< the call that ends them: a frontier frame
  database::ContextId after = 0;    ///< the one before; kNone: the thread's start
  std::uint32_t threads = 0;
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;
  std::uint64_t most_ns = 0;     ///< of one thread
  std::uint64_t longest_ns = 0;  ///< one gap
  std::uint64_t squares_low = 0,
                squares_high = 0;  ///< Σ over threads of the squared deviations from their means

  using Key = std::tuple<std::uint32_t, database::ContextId, database::ContextId>;
  /// Which gaps these are the sums of.
  [[nodiscard]] Key key() const { return {role, context, after}; }

  void add_squares(metrics::Uint128 squares);
  /// Of the same gaps.
  void add(const GapSums& other);
};

/// Idleness of all threads of `role` at a frontier frame, ns.
using IdlenessAt = std::function<std::uint64_t(std::uint32_t role, database::ContextId context)>;

/// The gaps whose variation explains waiting that lasting differences do not (docs/algorithms.md 5.8), the
/// most unexplained first; of each call that ends them the one that varies most. `idle_ns`: per role, of all
/// its threads. `unexplained_ns` includes what other calls wait because of it: who is late at one call makes
/// others wait at the next.
std::vector<database::VaryingGap> find_varying_gaps(std::span<const GapSums> gaps, const IdlenessAt& idleness,
                                                    std::span<const std::uint64_t> idle_ns);

}  // namespace culprit::blame
