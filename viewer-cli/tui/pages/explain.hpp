#pragma once

#include "tui/state/workspace.hpp"
#include "tui/widgets/page.hpp"

#include <string>

// What metrics and wait patterns mean, for those who do not know the manual.
namespace culprit::viewer::tui {

/// The columns that are shown, what is measured beside them, and what blame is.
Page explain_metrics(const Workspace& workspace, int width);

/// The columns of a comparison and what is remarked in it. `scales`: between different numbers of ranks.
Page explain_comparison(bool scales, int width);

/// Panes whose topic this is are explained by explain_maps().
inline constexpr const char* kMapsTopic = "maps of time";

/// What the maps of ranks over time show.
Page explain_maps(int width);

/// One wait pattern first, and then the others.
Page explain_patterns(const std::string& topic, int width);

/// True: `topic` is a wait pattern.
bool is_pattern(const std::string& topic);

}  // namespace culprit::viewer::tui

namespace culprit::viewer::tui {

/// All keys, for `?`.
Page keys_page();

}  // namespace culprit::viewer::tui
