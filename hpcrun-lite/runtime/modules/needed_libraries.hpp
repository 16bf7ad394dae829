#pragma once

#include "runtime/modules/map_snapshot.hpp"

namespace culprit::runtime {

/// Whether `module` is linked with `library`: its dynamic section names that (DT_NEEDED, DT_SONAME in the
/// System V ABI's ELF). Both are loaded and stay so during the call. Takes no lock.
bool needs_library(const LoadedModule& module, const LoadedModule& library);

}  // namespace culprit::runtime
