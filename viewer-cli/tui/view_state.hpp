#pragma once

#include "tui/browser.hpp"
#include "tui/state/workspace.hpp"

// How a database was last looked at, remembered among the user's state (state_files.hpp): never beside the
// database.
namespace culprit::viewer::tui {

/// Nothing happens where nothing is remembered, or what is remembered does not fit any more.
void restore_view(Browser& browser, Workspace& workspace);

/// Silent where it cannot be written: forgetting is no failure.
void save_view(Browser& browser, const Workspace& workspace);

}  // namespace culprit::viewer::tui
