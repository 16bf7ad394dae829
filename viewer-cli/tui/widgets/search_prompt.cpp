#include "tui/widgets/search_prompt.hpp"

namespace culprit::viewer::tui {

Prompt search_prompt(const std::string& last, const Searching& searching) {
  const auto entered = [last, searching](const std::string& text) {
    if (!text.empty()) return searching.arrive();
    searching.look_for(last);
    if (!last.empty()) searching.again();
  };
  return {"/", {}, searching.look_for, entered, searching.give_up};
}

}  // namespace culprit::viewer::tui
