#pragma once

#include "database/contents.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// How the processes of a run ended, where they did not end as usual.
namespace culprit::viewer {

/// Ranks that ended without MPI_Finalize; none where all did: launchers then have none left to kill.
std::vector<std::uint32_t> ranks_that_left(const database::Contents& experiment);

/// Whether all of several ranks did.
bool all_ranks_left(const database::Contents& experiment);

/// ` with exit status 3`, of the only one of these locations; empty where they are several, or it is not
/// known.
std::string exit_status_phrase(const database::Contents& experiment, const std::vector<std::uint32_t>& left);

/// `rank 3 was ended by SIGSEGV (Segmentation fault)`: of the first rank that crashed or aborted, or process
/// of a run without ranks.
std::string crash_phrase(const database::Contents& experiment);

/// Of a run that was cut short: the rank that ended first, and how long before the last; of one without an
/// end, that was last seen first, how long before all others.
struct FirstEnded {
  std::uint32_t location = 0;
  bool seen = false;  ///< it has no end
  std::uint64_t ns = 0;
};
/// Empty where none was cut short, or all ended at once: then none can have waited for one that had ended.
std::optional<FirstEnded> first_ended(const database::Contents& experiment);

/// `2 processes were cut short, or still ran when they were merged`: of a process without an end nobody knows
/// which. Empty where all have ended.
std::string cut_short_phrase(const database::Contents& experiment);

/// With time lines of processes without an end: that the calls which they were in have no record. Else empty.
std::string last_calls_phrase(const database::Contents& experiment);

}  // namespace culprit::viewer
