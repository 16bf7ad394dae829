#pragma once

#include "follow/follower.hpp"
#include "request/command_line.hpp"
#include "text/screen.hpp"

namespace culprit::viewer::tui {

/// Shows the run on the terminal, look after look, until it ends (true) or the user quits (false). Dies of a
/// signal that ends it, with the terminal given back. Throws std::runtime_error as look() does.
bool follow_on_screen(follow::Follower& follower, const Invocation& invocation, const Screen& screen);

}  // namespace culprit::viewer::tui
