#include "tui/widgets/page.hpp"

#include "text/prose.hpp"

#include <algorithm>

namespace culprit::viewer::tui {

void Page::say(const std::string& text, int width, int indent, Tone tone, std::optional<Target> target) {
  constexpr int kNarrowest = 20;
  const auto room = static_cast<std::size_t>(std::max(width - indent, kNarrowest));
  const std::string wrapped = wrap(text, room);
  for (std::size_t begin = 0; begin <= wrapped.size();) {
    const std::size_t end = std::min(wrapped.find('\n', begin), wrapped.size());
    lines.push_back(
        {{{std::string(static_cast<std::size_t>(indent), ' ') + wrapped.substr(begin, end - begin), tone}},
         target,
         {}});
    target.reset();
    begin = end + 1;
  }
}

std::string text_of(const PageLine& line) {
  std::string text;
  for (const Span& span : line.spans) text += span.text;
  return text;
}

}  // namespace culprit::viewer::tui
