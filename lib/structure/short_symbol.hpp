#pragma once

#include <string>
#include <string_view>

namespace culprit::structure {

/// What a C++ symbol names, without template arguments and parameters, for symbols that cannot be demangled
/// as a whole: `ns::Grid<...>::sweep [shortened 3f2a01]`. The number, of the whole symbol, tells apart
/// what only the arguments do. As it is where nothing of it can be read. In linear time, for any bytes.
std::string short_name(const std::string& symbol);

}  // namespace culprit::structure
