#include "tui/pages/page_parts.hpp"

#include "text/call_path_text.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"

#include <algorithm>

namespace culprit::viewer::tui {
namespace {

constexpr std::size_t kUnbroken = 100'000;  // columns: a path is one line here

std::string blanks(int number) {
  return std::string(static_cast<std::size_t>(std::max(number, 0)), ' ');
}

}  // namespace

PageLine link_line(const std::string& name, const std::string& right, const Target& target, int width,
                   int indent, bool unicode) {
  constexpr int kGap = 2;
  const std::string sign = unicode ? "▸ " : "> ";
  const auto taken = static_cast<int>(columns(right));
  const int room = std::max(width - indent - 2 - taken - kGap, 12);
  const std::string shown = shorten_middle(name, static_cast<std::size_t>(room), unicode);
  PageLine line;
  line.spans = {{blanks(indent), Tone::plain}, {sign, Tone::dim}, {shown, Tone::link}};
  const int gap = width - indent - 2 - static_cast<int>(columns(shown)) - taken;
  line.spans.push_back({blanks(std::max(gap, 1)) + right, Tone::plain});
  line.target = target;
  return line;
}

void add_path(Page& page, const Workspace& workspace, database::ContextId context, int width, int indent) {
  constexpr int kNarrowest = 20;
  const auto room = static_cast<std::size_t>(std::max(width - indent, kNarrowest));
  const Screen screen{.width = room, .colour = false, .unicode = workspace.unicode()};
  const std::string text = path_text(workspace.experiment(), context, screen);
  page.add(blanks(indent) + shorten_middle(wrap(text, kUnbroken), room, workspace.unicode()), Tone::dim);
}

void add_heading(Page& page, const std::string& text, const std::string& right, int width) {
  page.blank();
  const int gap = width - static_cast<int>(columns(text)) - static_cast<int>(columns(right));
  page.add(text + blanks(std::max(gap, 1)) + right, Tone::heading);
}

void say_rest(Page& page, std::size_t all, const char* command) {
  if (all <= kMostRows) return;
  page.add("and " + std::to_string(all - kMostRows) + " more (viewer-cli DB " + command + " --format csv)",
           Tone::dim);
}

Target to_context(database::ContextId context, std::vector<std::uint32_t> locations) {
  return {Target::Kind::context, context, std::move(locations), -1, 0, 0, {}};
}

std::string seconds_text(const Workspace& workspace, double seconds) {
  return duration(seconds, workspace.unicode());
}

}  // namespace culprit::viewer::tui
