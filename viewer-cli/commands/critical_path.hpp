#pragma once

#include "text/call_path_text.hpp"
#include "text/screen.hpp"
#include "text/table.hpp"

#include <ostream>
#include <string>
#include <vector>

// The critical path (`critical-path`): what the run's length depends on.
namespace culprit::viewer {

/// Its scopes, added up by what the user wrote or chose (UsersScopes); the longest first.
std::vector<database::CriticalScope> critical_by_scope(const database::Contents& experiment);

/// A row per scope and thread.
Table critical_path_table(const database::Contents& experiment);
/// An object per scope.
Json critical_path_json(const database::Contents& experiment);
/// How long it is, and what balancing its code could save; wrap() breaks it, as what follows.
std::string critical_path_summary(const database::Contents& experiment, bool unicode);
/// `on rank 3 80 %, rank 0 20 %; 80 ms above the mean`.
std::string critical_row_phrase(const database::Contents& experiment, const database::CriticalScope& one,
                                bool unicode);
void write_critical_path(std::ostream& out, const Screen& screen, const database::Contents& experiment);

}  // namespace culprit::viewer
