#pragma once

#include <string_view>

namespace culprit::merge {

/// Whether a module belongs to a language implementation (C, C++, Fortran, OpenMP; the dynamic linker, the
/// vdso): code that a user neither wrote nor chose. What happens in it, the user's code around it causes.
/// Libraries that a user chooses (BLAS, MPI) do not belong here.
bool is_run_time_library(std::string_view module_path);

}  // namespace culprit::merge
