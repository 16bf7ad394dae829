#pragma once

#include "views/source.hpp"

#include <ostream>
#include <string_view>

namespace culprit::viewer {

/// Writes one page of HTML that holds the diagnosis, the views, maps, lists and sources of a run, less what
/// would make it larger than browsers open at once; what was left out is stated on it. `sources`: with the
/// source texts that the database holds. Reads per-thread values. Throws CommandError where the tools were
/// built without the page's script.
void write_html(std::ostream& out, const views::Source& source, bool sources = true);

/// The page without its data, which belongs in the place of `@DATA@` (viewer-cli/html). Empty where the tools
/// were built without esbuild or D3.
std::string_view page_template();

}  // namespace culprit::viewer
