#pragma once

#include "commands/table.hpp"
#include "text/screen.hpp"

#include <ostream>

// Wait states (`waits`): who waited where, by pattern, and where it is known because of whom.
namespace culprit::viewer {

/// What to say where there are none to list.
std::string no_listed_waits_phrase(const database::Contents& experiment);

Table waits_table(const database::Contents& experiment);
void write_waits(std::ostream& out, const Screen& screen, const database::Contents& experiment);

}  // namespace culprit::viewer
