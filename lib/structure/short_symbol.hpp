#pragma once

#include <string>
#include <string_view>

namespace culprit::structure {

/// What a C++ symbol names, without template arguments and parameters, for symbols that cannot be demangled
/// as a whole: `ns::Grid<...>::sweep [shortened 3f2a01]`. The number, of the whole symbol, tells apart
/// what only the arguments do. As it is where nothing of it can be read. In linear time, for any bytes.
std::string short_name(const std::string& symbol);

/// What a module, and code in it without a symbol, is named for: the file's name, of Python's extension
/// modules without where they were built for, which says nothing to their users:
/// `MPI.cpython-311-x86_64-linux-gnu.so` is `MPI.so`.
std::string module_name(std::string_view path);

}  // namespace culprit::structure
