#pragma once

#include "commands/list.hpp"
#include "findings/diagnosis.hpp"
#include "findings/thread_causes.hpp"
#include "text/frame_json.hpp"
#include "text/screen.hpp"
#include "text/table.hpp"

#include <ostream>
#include <string>
#include <vector>

namespace culprit::viewer {

/// `{"idle_share","idle_s","total_s","where","roles","blame","suspects","replayed_savings","quality"}` and
/// more. `database`: as the user named it.
Json report_json(const views::Figures& figures, const std::string& database, bool without_startup = false);

/// The counters of the measurement's quality; of the time lines, those that end early (`traces_stopped`) and
/// how many operations of each kind found no partner (`unmatched`).
Json quality_json(const database::Contents& experiment);

/// What was run, where, when and how; quality figures; modules and what is wrong with them.
void write_info(std::ostream& out, const Screen& screen, const database::Contents& experiment);

/// `{"command","ranks","threads","samples",…,"events","modules","start","duration_s"}`.
Json info_json(const database::Contents& experiment);

/// Balanced contexts and their blame; shares are of `idle_s`. `without_startup`: of the waiting outside
/// MPI_Init and MPI_Finalize.
List blame_list(const views::Figures& figures, const std::vector<Blamed>& blamed, double idle_s,
                bool without_startup, const ListOptions& options);
/// Code that makes other threads of its process idle, and that holds locks they wait for; each as far as
/// there is such code.
std::vector<List> thread_cause_lists(const database::Contents& experiment, const ThreadCauses& causes,
                                     const ListOptions& options);
/// Both of them.
void write_blame(std::ostream& out, const Screen& screen, const views::Figures& figures,
                 bool without_startup = false);
/// Shares are of `idle_s`.
Table blame_table(const views::Figures& figures, const std::vector<Blamed>& blamed, double idle_s);

/// Ranked suspects, each with ranks, work, what it explains and what mending it saves.
List suspects_list(const views::Figures& figures, const ListOptions& options);
/// And code that makes other threads of its process wait.
void write_suspects(std::ostream& out, const Screen& screen, const views::Figures& figures);
Table suspects_table(const views::Figures& figures);

/// Idleness over all roles but those that only serve others, seconds; `without_startup`: outside MPI_Init and
/// MPI_Finalize.
double idleness_of(const views::Figures& figures, bool without_startup = false);

}  // namespace culprit::viewer
