#pragma once

#include <string_view>

namespace culprit::viewer {

/// The page without its data, which belongs in the place of `@DATA@` (viewer-cli/html). Empty where the tools
/// were built without esbuild or D3.
std::string_view page_template();

}  // namespace culprit::viewer
