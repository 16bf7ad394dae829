#pragma once

#include "database/contents.hpp"
#include "findings/diagnosis.hpp"
#include "views/figures.hpp"

#include <cstdint>
#include <string>

// What may be concluded of ranks and threads that wait for each other, from as much of the run as was
// measured. A run may have no MPI ranks, or one; of several, some may have been measured alone (hpcrun-lite
// --ranks).
namespace culprit::viewer {

/// `only 1 of 3 ranks was measured`; empty where all were, and where the run has none.
std::string partly_measured(const database::Contents& experiment);

/// Whether a launcher of MPI started several processes as ranks, of which none called MPI.
bool ranks_without_mpi(const database::Contents& experiment);

/// Whether every rank of the run has a time line: else nobody knows what waits are for those without.
bool all_ranks_traced(const database::Contents& experiment);

/// Whether the time lines are those of threads of the only process, without MPI, each as if it were a rank.
bool lines_are_threads(const database::Contents& experiment);

/// A text on ranks, which says threads instead where these have the time lines.
std::string of_lines(const database::Contents& experiment, std::string text);

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

/// Of time lines that are all whole: that operations found no partner, how many, and of which ranks; else
/// empty.
std::string no_partner_phrase(const database::Contents& experiment);

/// Sentences for analyses of time lines of which some are cut, hold a stop of sampling, or do not match;
/// empty where all are whole.
std::string cut_time_lines_phrase(const database::Contents& experiment);

/// Whether processes have traces, which need not be readable.
bool traces_were_recorded(const database::Contents& experiment);

/// Why analyses of the ranks' time lines cannot be shown, and what to do, without a capital and a full stop.
std::string no_time_lines_phrase(const database::Contents& experiment);

/// Why a run with ranks, or without, has no counted calls of MPI: a sentence.
std::string no_calls_phrase(const database::Contents& experiment);

/// The part of a blamed context's idleness that is reached only through scopes with too few samples to decide
/// whether they are balanced: 0 to 1.
double undecided_share(const views::Figures& figures, const Blamed& blamed);

}  // namespace culprit::viewer
