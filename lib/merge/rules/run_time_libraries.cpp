// Recognizes run-time libraries of programming languages by the names of their files (docs/algorithms.md 5.2,
// 5.4): those of C, C++, Fortran, OpenMP and Python, the dynamic linker, the vdso. The noise-aware test of
// balance leaves their code out, and suspects are named outside of it, since the user's code around it causes
// what happens there. Libraries that a user chooses (BLAS, MPI) are not in the list.
#include "merge/rules/run_time_libraries.hpp"

#include "merge/rules/idle_rules.hpp"

#include <algorithm>
#include <array>

namespace culprit::merge {
namespace {

constexpr std::array<std::string_view, 30> kPatterns = {
    "[vdso]",        "ld-linux*.so*", "ld-musl*.so*",   "ld-2*.so",      "libc.so*",        "libc-2*.so",
    "libm.so*",      "libm-2*.so",    "libmvec.so*",    "libmvec-2*.so", "libpthread*.so*", "librt.so*",
    "libdl.so*",     "libgcc_s.so*",  "libstdc++.so*",  "libc++.so*",    "libc++abi.so*",   "libgfortran.so*",
    "libflang*.so*", "libgomp.so*",   "libomp.so*",     "libiomp5.so*",  "libquadmath.so*", "libimf.so*",
    "libsvml.so*",   "libintlc.so*",  "libifcore*.so*", "python3",       "python3.*",       "libpython3*.so*",
};

}  // namespace

bool is_run_time_library(std::string_view module_path) {
  const std::string_view name = module_path.substr(module_path.rfind('/') + 1);
  return std::ranges::any_of(kPatterns, [&](std::string_view pattern) { return matches(pattern, name); });
}

}  // namespace culprit::merge
