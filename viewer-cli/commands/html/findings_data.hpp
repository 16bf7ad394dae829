#pragma once

#include "commands/html/packed_values.hpp"
#include "commands/html/page_tree.hpp"
#include "views/figures.hpp"

#include <string>
#include <unordered_set>

// What the commands say of a run, with the rows of the trees that it is about.
namespace culprit::viewer {

/// The contexts that findings name, with all above them: what the tree of calls must have.
std::unordered_set<views::NodeId> contexts_named(const database::Contents& experiment);

/// The paragraphs of `report`, each of parts that lead somewhere or not.
Json report_data(const views::Figures& figures, const std::string& database, const PageTree& calls,
                 const PageTree& flat);

/// `waits`, `causes`, `hotspots` and `critical-path`, as their texts list them.
Json lists_data(const views::Figures& figures, const PageTree& calls);

/// What was run, where, when and how.
Json facts_data(const database::Contents& experiment);

/// Null where there are no ranks.
Json efficiency_data(const views::Figures& figures);

}  // namespace culprit::viewer
