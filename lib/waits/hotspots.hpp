#pragma once

#include "exchange/communicator.hpp"
#include "waits/forward.hpp"
#include "waits/path_shares.hpp"
#include "waits/roster.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace culprit::waits {

/// What a hot procedure of one time line cost a waiter (Wu 2020, equation 5), in ns of its waiting.
struct Hotspot {
  Location location = kNoLocation;
  std::uint32_t context = 0;  ///< the procedure's call path
  Location waiter = kNoLocation;
  std::uint32_t waiter_context = 0;
  std::uint64_t ns = 0;

  friend auto operator<=>(const Hotspot&, const Hotspot&) = default;  // NOLINT(modernize-use-nullptr)
};

struct HotspotOptions {
  /// Procedures that took less than this share of all time lines' time are left out.
  double threshold = 0.01;
  /// How many waits all ranks together take at a time, about.
  std::uint64_t waits_per_round = 1 << 16;
};

/// Collective: hotspot diagnosis, a leaner one than delay costs: the causer's hot procedures alone bear each
/// wait, in proportion to what they took longer than on the waiter since both last met; nothing is passed on.
/// Of a collective only the wait of who came first counts. `procedure_of` gives for each call path of the
/// united tree the path of the procedure that it is in. This rank's share, in order.
std::vector<Hotspot> hotspots(exchange::Communicator& analysis, const Roster& roster, const Forward& forward,
                              std::span<const std::uint32_t> procedure_of,
                              const HotspotOptions& options = {});

}  // namespace culprit::waits
