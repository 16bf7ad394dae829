#pragma once

#include "tui/widgets/host.hpp"

#include <functional>
#include <string>

namespace culprit::viewer::tui {

/// What a pane does with what is searched for.
struct Searching {
  std::function<void(const std::string&)> look_for;  ///< while it is typed; empty text: nothing any more
  std::function<void()> arrive;   ///< at the match, whatever is left to look through: the next key is for it
  std::function<void()> again;    ///< on to the next match of `last`
  std::function<void()> give_up;  ///< back to where the search began
};

/// Asks for a pattern as less does: it is looked for while it is typed; nothing typed means the `last` again.
Prompt search_prompt(const std::string& last, const Searching& searching);

}  // namespace culprit::viewer::tui
