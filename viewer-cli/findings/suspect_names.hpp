#pragma once

#include "database/contents.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace culprit::viewer {

/// What each suspect of the experiment is called, in its order: by the scope that stands out and where inside
/// it the excess is, `smooth (in pause_for at a.c:11)`; library code is followed by the program's own
/// procedure that it works for; two that would read the same by the callers that distinguish them. Names are
/// shortened to `width` columns.
std::vector<std::string> suspect_names(const database::Contents& experiment, std::size_t width, bool unicode);

/// By context, what rows on code are called: `loop at a.c:6 in burn`, and where two would read the same
/// `assemble (in burn at a.c:6)`, as suspects are. Paths that show alike have one name.
using CodeNames = std::map<database::ContextId, std::string>;
CodeNames code_names(const database::Contents& experiment, const std::vector<database::ContextId>& contexts,
                     std::size_t width, bool unicode);

/// The scope that the name of a suspect begins with: `smooth` above.
database::ContextId scope_of_name(const database::Contents& experiment, const database::Suspect& suspect);

/// Of the suspect at `experiment.suspects()[index]`, given all their names.
const std::string& name_of(const database::Contents& experiment, const std::vector<std::string>& names,
                           const database::Suspect& suspect);

}  // namespace culprit::viewer
