#include "tui/pages/page_parts.hpp"

#include "findings/suspect_names.hpp"
#include "text/call_path_text.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"
#include "views/figures.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

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
  page.add(blanks(indent) + path_line(workspace.experiment(), context, room, workspace.unicode()), Tone::dim);
}

namespace {

/// Of the code that a list has, such that no two rows read the same.
CodeNames names_in(const Workspace& workspace, const List& list, int width) {
  std::vector<database::ContextId> contexts;
  for (const ListRow& row : list.rows) {
    // What has a name of its own is not named by its code.
    const std::size_t named = row.name.empty() || row.paths.empty() ? 0 : 1;
    for (const ListPath& path : std::span(row.paths).subspan(named)) contexts.push_back(path.context);
  }
  return code_names(workspace.experiment(), contexts, static_cast<std::size_t>(width), workspace.unicode());
}

/// How code is called in a line: `loop at spmv.c:88 in cg_iterate`.
std::string name_in_line(const database::Contents& experiment, const CodeNames& names, const ListPath& path) {
  const auto found = names.find(path.context);
  return (found == names.end() ? "" : found->second) + between_phrase(experiment, path);
}

}  // namespace

void add_list(Page& page, const Workspace& workspace, const List& list, int width, bool brief) {
  constexpr int kIndent = 4, kAround = 6;  // columns: of what is below a row; of the sign and gaps of a link
  if (!list.introduction.empty() && !brief) {
    page.blank();
    page.say(list.introduction, width, 0, list.rows.empty() ? Tone::plain : Tone::dim);
  }
  if (!list.rows.empty() && !list.title.empty()) add_heading(page, list.title, list.amount, width);
  const CodeNames names = names_in(workspace, list, width);
  for (const ListRow& row : list.rows) {
    const ListPath first = row.paths.empty() ? ListPath{} : row.paths.front();
    const std::string name = row.name.empty() ? name_in_line(workspace.experiment(), names, first) : row.name;
    const std::optional<double> share = share_of(list, row);
    const std::string right =
        seconds_text(workspace, seconds_of(row.ns)) + (share ? "  " + round_percent(*share) : "");
    const std::string text = wrap(row.text, kUnbroken);
    const bool fits =
        !list.apart && static_cast<int>(columns(name) + columns(text) + columns(right)) + kAround <= width;
    const std::optional<ListSegment>& segment = row.segment;
    const Target target =
        segment ? Target{Target::Kind::time, 0, {}, segment->rank, segment->segment, segment->level, {}}
                : to_context(first.context, first.locations);
    PageLine line = link_line(fits ? std::string(name).append("  ").append(text) : name, right, target, width,
                              0, workspace.unicode());
    line.topic = row.topic;
    page.add(std::move(line));
    if (brief) continue;
    if (!fits && !text.empty()) page.say(row.text, width, kIndent);
    if (row.paths.empty()) continue;
    add_path(page, workspace, first.context, width, kIndent);
    for (const ListPath& path : std::span(row.paths).subspan(1))
      page.add(link_line(path.before + name_in_line(workspace.experiment(), names, path), "",
                         to_context(path.context, path.locations), width, kIndent, workspace.unicode()));
  }
  say_rest(page, list.rows.size() + list.left_out, list.command.c_str());
  for (const std::string& note : list.notes) {
    page.blank();
    page.say(note, width, 0, Tone::dim);
  }
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
