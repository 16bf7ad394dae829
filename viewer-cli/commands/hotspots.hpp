#pragma once

#include "commands/list.hpp"
#include "commands/table.hpp"

// Hot procedures that made others wait (`hotspots`).
namespace culprit::viewer {

Table hotspots_table(const database::Contents& experiment);
List hotspots_list(const database::Contents& experiment, const ListOptions& options);

}  // namespace culprit::viewer
