#pragma once

#include <ostream>
#include <string_view>

namespace culprit::viewer {

/// Writes `bytes` compressed as a gzip file. The same bytes give the same file: it holds no time and no name.
void write_gzip(std::ostream& out, std::string_view bytes);

}  // namespace culprit::viewer
