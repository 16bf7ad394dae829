#pragma once

#include "commands/list.hpp"
#include "commands/table.hpp"

// Wait states (`waits`): who waited where, by pattern, and where it is known because of whom.
namespace culprit::viewer {

/// All waiting that the database lists: parts of waits and completions left out.
std::uint64_t waiting_ns(const database::Contents& experiment);

Table waits_table(const database::Contents& experiment);
List waits_list(const database::Contents& experiment, const ListOptions& options);

}  // namespace culprit::viewer
