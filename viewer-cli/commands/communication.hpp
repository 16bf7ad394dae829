#pragma once

#include "findings/mpi_calls.hpp"
#include "text/screen.hpp"
#include "text/table.hpp"
#include "views/figures.hpp"

#include <ostream>
#include <string>
#include <vector>

// What MPI calls took and moved, and between whom (`communication`).
namespace culprit::viewer {

/// A row per call path.
Table calls_table(const database::Contents& experiment, const MpiTraffic& traffic);
/// A row per MPI function.
Table functions_table(const database::Contents& experiment, const MpiTraffic& traffic);
/// A row per pair of ranks, and communicator.
Table partners_table(const database::Contents& experiment,
                     const std::vector<database::PartnerTraffic>& partners);
/// All of them, and the time that shares are of. `figures` must be over all threads, here and below.
Json communication_json(const views::Figures& figures, bool without_startup = false);
void write_communication(std::ostream& out, const Screen& screen, const views::Figures& figures,
                         bool without_startup = false);

// Its parts, for the browser.
/// `8 000 MPI calls took 4.00 s, ...`.
std::string communication_summary(const MpiTraffic& traffic, bool unicode);
/// What is not known without a trace; empty with one.
std::string communication_note(const database::Contents& experiment);
/// A heading and a line for each function.
std::vector<std::string> function_lines(const Screen& screen, const database::Contents& experiment,
                                        const MpiTraffic& traffic);
/// Where a call path is, who calls it, and what it moves.
std::string call_details(const database::Contents& experiment, const database::CallTraffic& call,
                         const Screen& screen);
/// Who sends to whom, by communicator; empty where that is not known.
std::vector<std::string> partner_lines(const Screen& screen, const database::Contents& experiment);

}  // namespace culprit::viewer
