#pragma once

#include "commands/table.hpp"
#include "text/screen.hpp"

#include <ostream>

// Hot procedures that made others wait (`hotspots`).
namespace culprit::viewer {

Table hotspots_table(const database::Contents& experiment);
void write_hotspots(std::ostream& out, const Screen& screen, const database::Contents& experiment);

}  // namespace culprit::viewer
