#pragma once

#include "database/database.hpp"
#include "measurement/kinds.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

// Single epochs of one-sided communication of which all processes kept their calls' times: their waits are
// exact, by the definitions of docs/algorithms.md 7. What share of its time a call waited there is an
// estimate for all its calls.
namespace culprit::blame {

/// One call of one epoch, or of one member of its group.
struct EpochStamp {
  std::uint32_t location = 0;
  std::int32_t rank = -1;
  std::uint32_t host = 0;  ///< clocks of different hosts are not compared
  database::ContextId context = 0;
  measurement::EpochKind kind = measurement::EpochKind::none;
  std::uint8_t unused[3] = {};  ///< no padding: stamps are sent as they are
  std::uint32_t instance = 0;   ///< its sequence number in its window, with its peer
  std::uint32_t members = 0;    ///< processes of the window, members of the group
  std::int32_t peer = -1;       ///< rank
  std::uint64_t window = 0;
  std::uint64_t enter_ns = 0, exit_ns = 0;
  std::uint64_t last_ns = 0;  ///< exit of the last operation on the peer, or of MPI_Win_start; 0: none
};
static_assert(sizeof(EpochStamp) == 64);

/// Who made others wait: location and context.
using Cause = std::pair<std::uint32_t, database::ContextId>;

/// What a thread's calls of one kind at one call path did in those epochs.
struct SampledCalls {
  struct Waiting {
    std::uint64_t ns = 0;
    std::map<Cause, std::uint64_t> causes;  ///< ns by cause
  };
  std::uint64_t duration_ns = 0;
  Waiting all;   ///< that the kind's pattern names
  Waiting part;  ///< of it late-complete, early-fence
};

using CallSite = std::tuple<std::uint32_t, database::ContextId, measurement::EpochKind>;

/// By (location, context, kind of call). Epochs that some process left out, or of several hosts, do not
/// count.
std::map<CallSite, SampledCalls> match_stamps(std::span<const EpochStamp> stamps);

}  // namespace culprit::blame

// The waits of one-sided communication, approximated without a trace (docs/algorithms.md 6), and those of
// threads.
namespace culprit::blame {

/// One accumulator of one thread, at the frontier frame of its call path.
struct EpochRow {
  std::uint32_t location = 0;
  std::int32_t rank = -1;
  database::ContextId context = 0;
  std::uint32_t size_class = 0;
  measurement::EpochKind kind = measurement::EpochKind::none;
  measurement::WaitKind thread_wait = measurement::WaitKind::none;  ///< with kind none: a wait of threads
  std::uint8_t unused[6] = {};                                      ///< no padding: rows are sent as they are
  std::uint64_t window = 0, peers = 0;
  std::uint64_t count = 0, total_ns = 0, least_ns = 0;
  std::uint64_t idle_ns = 0;  ///< idleness sampled in the frame by this thread
};

struct Approximation {
  std::vector<database::Wait> waits;  ///< largest first; the same for every order of rows and stamps
  std::uint64_t unclassified_ns =
      0;  ///< idleness in frames of one-sided calls beyond what they are estimated to wait
  std::uint64_t excess_ns = 0;  ///< estimated to wait, but not sampled as idle, and therefore left out
};

/// Divides the idleness of each frame among patterns; what the rows of a (location, context) get never
/// exceeds idle_ns. A call waits for the share of its time that it waited in the epochs with stamps; where
/// there are none, for as long as it took beyond what such a call takes at least.
Approximation approximate_waits(std::span<const EpochRow> rows, std::span<const EpochStamp> stamps = {});

}  // namespace culprit::blame
