#pragma once

#include "database/contents.hpp"
#include "text/call_path_text.hpp"
#include "text/frame_json.hpp"
#include "text/screen.hpp"

#include <ostream>
#include <vector>

// The critical path (`critical-path`): what the run's length depends on.
namespace culprit::viewer {

/// Its scopes, statements added up to what they are in; the longest first.
std::vector<database::CriticalScope> critical_by_scope(const database::Contents& experiment,
                                                       ScopeOf scope_of = &scope_around);

Json critical_path_json(const database::Contents& experiment);
void write_critical_path(std::ostream& out, const Screen& screen, const database::Contents& experiment);
void write_critical_path_csv(std::ostream& out, const database::Contents& experiment);

}  // namespace culprit::viewer
