#pragma once

#include "database/contents.hpp"
#include "findings/diagnosis.hpp"
#include "views/frame.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace culprit::viewer {

/// Where work is done: `spmv at spmv.c:88`; `dot in main`, which is inlined there; `memcpy, called from
/// pack`.
std::string work_phrase(const database::Contents& experiment, const Work& work, std::size_t width,
                        bool unicode);

/// How a person would name a scope: `spmv at spmv.c:88`, `the loop at solver.c:412 in cg_iterate`, `the whole
/// run`. `article`: with `the` before a loop or a call. Names are shortened to `width` columns.
std::string scope_phrase(const database::Contents& experiment, database::ContextId context, bool article,
                         std::size_t width, bool unicode);

/// The procedure at or above `context`; kNone above all.
database::ContextId enclosing_procedure(const database::Contents& experiment, database::ContextId context);

/// A procedure's name without its parameters, shortened to `width` columns.
std::string procedure_name(const database::Contents& experiment, database::ContextId context,
                           std::size_t width, bool unicode);

/// The same for a suspect, by the procedure `named` where the scope `inside` it lies in another one: `smooth
/// (in pause_for at a.c:11)`, without `named` where that has no name, but the other has; library code is
/// followed by the program's own procedure that it works for, or follows the Python function: `Field.smooth
/// (in ufunc_add)`.
std::string suspect_phrase(const database::Contents& experiment, database::ContextId named,
                           database::ContextId inside, std::size_t width, bool unicode);

/// Below blamed places, where start-up is left out.
inline constexpr const char* kBlameSharesWithoutStartUp =
    "Shares are of the waiting outside MPI_Init and MPI_Finalize; seconds count that inside, too.";

/// `41 % more work on`, `3.2 times the others' work on`, `works almost only on`, `works only on`, `spends
/// more time in MPI calls on`, `moves data for longer on`: how much more a suspect's threads work than the
/// others. Of what hardly uses a processor: `takes longer on`, `takes time only on`.
std::string more_work_phrase(const SuspectFacts& facts);

/// Whether all of these are main threads of ranks, so that a rank's number names one.
bool are_ranks(const database::Contents& experiment, std::span<const std::uint32_t> locations);

/// `rank 3`, `ranks 3, 7`, `ranks 0-62:2`, and where that takes many parts `1 365 ranks (0, 3, 4-9, ...)`; of
/// other threads of ranks `12 threads of ranks 0-3`, of few `threads 0, 1 of ranks 2, 3`; threads and
/// processes without a rank by name, at most a few of them.
std::string threads_phrase(const database::Contents& experiment, std::span<const std::uint32_t> locations);

/// `rank 3 thread 1`, `host:pid thread 2`; `thread 2` where the run is one process that is no rank.
std::string thread_phrase(const database::Contents& experiment, std::uint32_t location);

/// `main threads`, or the workers' start routine in quotes with `threads`.
std::string role_phrase(const database::Contents& experiment, std::uint32_t role);

/// `rank 3`, `ranks 0-3, 8`; of many parts, which nobody reads, how many ranks there are. In any order.
std::string ranks_phrase(std::span<const std::int32_t> ranks);

/// ` (worker threads)`, where there are several roles.
std::string role_suffix(const database::Contents& experiment, std::uint32_t role);

/// `hint`, `likely` or `sure`, as json and csv have it.
std::string confidence_name(database::Confidence confidence);

/// `likely, surer with a longer run`; empty for a suspect that is sure.
std::string confidence_phrase(const database::Contents& experiment, const SuspectFacts& facts);

/// What would make a suspect surer: `a longer run`, `--trace`, or, where there is a trace, `causes`; empty
/// where nothing is in doubt.
std::string surer_with(const database::Contents& experiment, const SuspectFacts& facts);

/// Of a suspect whose other threads may serve other work (Doubt::pools): both readings, in place of a saving.
std::string other_pool_phrase(const database::Contents& experiment, const database::Suspect& suspect);

/// Without time lines: that for `amount` of waiting (`up to 9.1 s`) ranks lacked a processor, and what that
/// may mean.
std::string perhaps_lacking_phrase(const std::string& amount);

/// ` (80 % is typical here)`: CPU time per time of work, where it is known.
std::string usual_cpu_phrase(const SuspectFacts& facts);

/// What mending a suspect is worth, and how much of its excess is CPU time.
std::string mending_phrase(const database::Contents& experiment, const SuspectFacts& facts, bool unicode);

/// Of each gap between waiting calls that varies from one iteration to the next: how much, what waiting that
/// explains, together no more than `most_s`, and that time lines would show who made whom wait; nothing where
/// there are time lines. Names are shortened to `width` columns.
std::vector<std::string> varying_gap_phrases(const database::Contents& experiment, double most_s,
                                             std::size_t width, bool unicode);

/// `alpha takes 563 ms and beta 470 ms`.
std::string parts_phrase(const database::Contents& experiment, std::span<const SuspectPart> parts,
                         std::size_t width, bool unicode);

}  // namespace culprit::viewer
