#pragma once

#include "database/contents.hpp"
#include "findings/diagnosis.hpp"
#include "views/figures.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// What may be concluded of ranks and threads that wait for each other, from as much of the run as was
// measured. A run may have no MPI ranks, or one; of several, some may have been measured alone (hpcrun-lite
// --ranks).
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

/// `only 1 of 3 ranks was measured`; empty where all were, and where the run has none.
std::string partly_measured(const database::Contents& experiment);

/// Whether every rank of the run has a time line: else nobody knows what waits are for those without.
bool all_ranks_traced(const database::Contents& experiment);

/// `ranks 0-1 ran solver, ranks 2-3 coupler`; empty where all ran one program.
std::string programs_text(const database::Contents& experiment);

/// Whether all ranks were measured, and they are several.
bool are_ranks_comparable(const database::Contents& experiment);

/// `1 084 of 1 189 samples have no call path, since the measurement had no space for them (No space left on
/// device)`; empty where under a tenth lost theirs.
std::string lost_paths_text(const database::Contents& experiment);

/// One sentence for where time lines show no rank that waited for another: whether none did, or it cannot be
/// known.
std::string no_waits_phrase(const database::Contents& experiment);

/// One sentence for where next to nothing of the run is idle.
std::string little_idleness_phrase(const database::Contents& experiment);

/// `No rank is consistently slower here`.
std::string none_slower_phrase(const database::Contents& experiment, std::uint32_t role);

/// One sentence on blamed idleness that no suspect explains. `left`: an amount, where others explain the
/// rest; else empty.
std::string unexplained_phrase(const views::Figures& figures, const Blamed& blamed, const std::string& left,
                               double explained);

/// One sentence for where there are no suspects.
std::string no_suspects_phrase(const database::Contents& experiment);

/// A sentence behind figures of ranks, with a blank before it: those of ranks that were not measured are
/// missing in them. Empty where none are.
std::string partial_figures_phrase(const database::Contents& experiment);

/// Whether culprit_stop, or MPI_Pcontrol, stopped sampling for a time while time lines were recorded.
bool sampling_was_stopped(const database::Contents& experiment);

/// Whether threads waited in MPI that are no main thread of a rank, as time lines show it: how the threads of
/// such a process waited for each other is not known as exactly.
bool other_threads_call_mpi(const database::Contents& experiment);

/// `2 processes were cut short, or still ran when they were merged`: of a process without an end nobody knows
/// which. Empty where all have ended.
std::string cut_short_phrase(const database::Contents& experiment);

/// With time lines of processes without an end: that the calls which they were in have no record. Else empty.
std::string last_calls_phrase(const database::Contents& experiment);

/// Of time lines that are all whole: that operations found no partner, how many, and of which ranks; else
/// empty.
std::string no_partner_phrase(const database::Contents& experiment);

/// Sentences for analyses of time lines of which some are cut, hold a stop of sampling, or do not match;
/// empty where all are whole.
std::string cut_time_lines_phrase(const database::Contents& experiment);

/// Why analyses of the ranks' time lines cannot be shown, and what to do, without a capital and a full stop.
std::string no_time_lines_phrase(const database::Contents& experiment);

/// Why a run with ranks, or without, has no counted calls of MPI: a sentence.
std::string no_calls_phrase(const database::Contents& experiment);

/// The part of a blamed context's idleness that is reached only through scopes with too few samples to decide
/// whether they are balanced: 0 to 1.
double undecided_share(const views::Figures& figures, const Blamed& blamed);

}  // namespace culprit::viewer
