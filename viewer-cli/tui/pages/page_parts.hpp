#pragma once

#include "tui/state/workspace.hpp"
#include "tui/widgets/page.hpp"

#include <cstdint>
#include <string>

// What the pages of findings are made of.
namespace culprit::viewer::tui {

/// Rows of a page; longer lists are for `--format csv`.
inline constexpr std::size_t kMostRows = 300;

/// `and 12 more`, with the command that lists all, where there are more than a page shows.
void say_rest(Page& page, std::size_t all, const char* command);

/// A line with a link at the left and a remark at the right edge.
PageLine link_line(const std::string& name, const std::string& right, const Target& target, int width,
                   int indent, bool unicode);

/// The call path of a context, dim and indented, at most two lines of it (its middle goes).
void add_path(Page& page, const Workspace& workspace, database::ContextId context, int width, int indent);

void add_heading(Page& page, const std::string& text, const std::string& right, int width);

Target to_context(database::ContextId context, std::vector<std::uint32_t> locations = {});

/// `43.2 s`.
std::string seconds_text(const Workspace& workspace, double seconds);

}  // namespace culprit::viewer::tui
