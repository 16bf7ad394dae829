#pragma once

#include "waits/contexts.hpp"
#include "waits/ledger.hpp"
#include "waits/roster.hpp"

#include <compare>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace culprit::waits {

/// A piece of a time line that can be compared with the same piece of another one: the gap between two calls,
/// by the call paths of both, or, with kCall as `next`, a call itself by its path.
struct Piece {
  static constexpr std::uint32_t kCall = ~std::uint32_t{0};
  static constexpr std::uint32_t kStart = kCall - 1;  ///< as `previous`: before the first call
  static constexpr std::uint32_t kMet = kCall - 2;    ///< as `previous`: the call in which the two met
  std::uint32_t previous = 0, next = 0;

  friend auto operator<=>(const Piece&, const Piece&) = default;  // NOLINT(modernize-use-nullptr)
};

/// Where two time lines last met before a wait, as the waiter knows it: call `own` here (none: from the
/// beginning), and there either a call that is named, or the one that attended a collective.
struct IntervalStart {
  static constexpr std::uint32_t kBeginning = ~std::uint32_t{0};
  std::uint32_t own = kBeginning;
  std::uint32_t other = kBeginning;
  std::uint64_t context = 0;  ///< of the collective; 0: `other` is named
  std::uint32_t instance = 0;
};

/// For each wait of the line, in their order: where its synchronization interval with the cause begins
/// (algorithms.md 8). The line must be settled.
std::vector<IntervalStart> interval_starts(const TimeLine& line, const Contexts& contexts,
                                           const Roster& roster);

/// Time and sampled time of one piece.
struct PieceTime {
  Piece piece;
  std::uint32_t context = kWhole;  ///< of samples in it; kWhole: the piece's own, exact time
  std::uint64_t ns = 0;
  static constexpr std::uint32_t kWhole = ~std::uint32_t{0};
};

/// What one time line did from call `after` (IntervalStart::kBeginning: from its beginning) to the enter of
/// call `until`, waits left out: by piece, and sampled call path within it, in order. Of call `after` itself,
/// in which two time lines met, all but the wait belongs to the interval: they met when the later one came,
/// and whichever then takes longer to leave starts late. It is one piece, kMet, whatever the two calls are.
std::vector<PieceTime> profile(const TimeLine& line, std::span<const std::uint64_t> wait_of,
                               std::uint32_t after, std::uint32_t until);

/// What of `times` took longer than in `other`, by piece and with the difference; samples left out. Both as
/// profile() gives them.
std::vector<PieceTime> longer(std::span<const PieceTime> times, std::span<const PieceTime> other);

/// By call: how long it waited, parts and completions left out.
std::vector<std::uint64_t> wait_by_call(const TimeLine& line);

}  // namespace culprit::waits
