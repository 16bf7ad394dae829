#pragma once

#include "tui/state/workspace.hpp"
#include "tui/widgets/host.hpp"

// What the user may choose that concerns all panes: columns, order, threads, what is left out.
namespace culprit::viewer::tui {

Menu columns_menu(Workspace& workspace, Host& host);
Menu sort_menu(Workspace& workspace, Host& host);
Menu passed_over_menu(Workspace& workspace, Host& host);
Menu role_menu(Workspace& workspace, Host& host);
/// Asks for the share below which branches are hidden.
Prompt threshold_prompt(Workspace& workspace, Host& host);
/// Each frame on its own row, or recursion and the insides of libraries folded again.
void turn_folding(Workspace& workspace, Host& host);
Prompt ranks_prompt(Workspace& workspace, Host& host);
/// Asks for `NAME=FORMULA`, adds it as a column and keeps it with the database (state_files.hpp).
Prompt derived_prompt(Workspace& workspace, Host& host);

}  // namespace culprit::viewer::tui
