#pragma once

#include <string>

namespace culprit::structure {

/// How the kernel's code page is named among a process's modules.
inline constexpr const char* kVdsoPath = "[vdso]";

/// An anonymous file with a copy of this process's own vdso (its build-id says whether it is the one that
/// was measured), or -1 with the reason in `why`. The caller closes it.
int open_vdso(std::string& why);

}  // namespace culprit::structure
