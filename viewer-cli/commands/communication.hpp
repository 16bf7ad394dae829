#pragma once

#include "commands/table.hpp"
#include "text/screen.hpp"

#include <ostream>

// What MPI calls took and moved, and between whom (`communication`).
namespace culprit::viewer {

/// A row per call path.
Table calls_table(const database::Contents& experiment);
/// A row per pair of ranks, and communicator.
Table partners_table(const database::Contents& experiment);
/// Both, and the time that shares are of.
Json communication_json(const database::Contents& experiment);
void write_communication(std::ostream& out, const Screen& screen, const database::Contents& experiment);

}  // namespace culprit::viewer
