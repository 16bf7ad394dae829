#pragma once

#include "commands/list.hpp"
#include "commands/table.hpp"

#include <vector>

// Root causes of waiting (`causes`): what code on which thread cost others, directly and through others.
namespace culprit::viewer {

/// Costs by thread and scope, statements added up to what they are in; the most expensive first.
std::vector<database::Cause> causes_by_scope(const database::Contents& experiment,
                                             ScopeOf scope_of = &scope_around);

/// One row per thread and call path, and at the end one with an empty path for what is unexplained.
Table causes_table(const database::Contents& experiment);
/// The same, that row where its amount belongs.
Json causes_json(const database::Contents& experiment);
List causes_list(const database::Contents& experiment, const ListOptions& options);

}  // namespace culprit::viewer
