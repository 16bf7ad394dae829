#pragma once

#include "commands/list.hpp"
#include "tui/state/findings.hpp"
#include "tui/state/workspace.hpp"
#include "tui/widgets/page.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

// What the pages of findings are made of.
namespace culprit::viewer::tui {

/// `and 12 more`, with the command that lists all, where there are more than a page shows.
void say_rest(Page& page, std::size_t all, const char* command);

/// A line with a link at the left and a remark at the right edge.
PageLine link_line(const std::string& name, const std::string& right, const Target& target, int width,
                   int indent, bool unicode);

/// The call path of a context, dim and indented, in one line.
void add_path(Page& page, const Workspace& workspace, database::ContextId context, int width, int indent);

/// What a command lists. `brief`: names and amounts alone.
void add_list(Page& page, const Workspace& workspace, const List& list, int width, bool brief = false);

/// The code that makes other threads of its process idle, and that holds locks they wait for: at most `most`
/// rows of each.
void add_thread_causes(Page& page, const Workspace& workspace, const ThreadCauses& causes, std::size_t most,
                       bool brief, int width);

void add_heading(Page& page, const std::string& text, const std::string& right, int width);

Target to_context(database::ContextId context, std::vector<std::uint32_t> locations = {});

/// `43.2 s`.
std::string seconds_text(const Workspace& workspace, double seconds);

}  // namespace culprit::viewer::tui
