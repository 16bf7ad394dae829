#include "stacks/observation.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace culprit::stacks {

bool is_start_up(const Frame& frame) {
  constexpr std::array<std::string_view, 10> kNames = {"_start",
                                                       "__libc_start_main",
                                                       "__libc_start_main_impl",
                                                       "__libc_start_call_main",
                                                       "clone",
                                                       "clone3",
                                                       "__clone3",
                                                       "__clone",
                                                       "start_thread",
                                                       "(below main)"};
  return std::ranges::find(kNames, frame.name) != kNames.end() &&
         (frame.name.starts_with('_') || frame.module.starts_with("libc"));
}

bool is_of_c_library(const Frame& frame) {
  constexpr std::array<std::string_view, 7> kBeginnings = {"[vdso]",     "ld-linux", "ld-musl", "ld-2",
                                                           "libpthread", "libc.so",  "libc-2"};
  return std::ranges::any_of(kBeginnings,
                             [&](std::string_view beginning) { return frame.module.starts_with(beginning); });
}

bool is_of_system(const Frame& frame) {
  constexpr std::array<std::string_view, 37> kBeginnings = {
      "[vdso]",   "ld-linux",    "ld-musl",     "ld-2",       "libc.so",   "libc-2",   "libm.so",
      "libm-2",   "libmvec",     "libpthread",  "librt.so",   "libdl.so",  "libgcc_s", "libstdc++",
      "libc++",   "libgfortran", "libflang",    "libgomp",    "libomp",    "libiomp5", "libquadmath",
      "libmpi",   "libopen-rte", "libopen-pal", "libpmix",    "libprrte",  "libevent", "libhwloc",
      "libuc",    "libfabric",   "libpsm",      "libibverbs", "librdmacm", "mca_",     "libculprit",
      "libmunge", "libpmi"};
  // Templates and inlined code of headers are compiled into the program.
  if (frame.file.starts_with("/usr/include/") || frame.file.find("/include/c++/") != std::string::npos)
    return true;
  return frame.mpi || std::ranges::any_of(kBeginnings, [&](std::string_view beginning) {
           return frame.module.starts_with(beginning);
         });
}

}  // namespace culprit::stacks
