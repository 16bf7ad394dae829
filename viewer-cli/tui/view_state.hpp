#pragma once

#include "tui/state/workspace.hpp"
#include "tui/tabs.hpp"

// How a database was last looked at, remembered among the user's state (state_files.hpp): never beside the
// database.
namespace culprit::viewer::tui {

/// Nothing happens where nothing is remembered, or what is remembered does not fit any more.
void restore_view(Tabs& tabs, Workspace& workspace);

/// Silent where it cannot be written: forgetting is no failure.
void save_view(Tabs& tabs, const Workspace& workspace);

}  // namespace culprit::viewer::tui
