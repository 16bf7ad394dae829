#pragma once

#include "runtime/modules.hpp"

#include <cstdint>

namespace culprit::runtime {

/// Finds modules where the C library is too old for _dl_find_object: in a table of the process's file
/// mappings that is read anew, at most every 50 ms, when an address is not in it or modules were unloaded.
/// Async-signal-safe: it reads /proc/self/maps, and ELF headers through the kernel, so that an unmapped page
/// is an error and not a fault.
bool find_in_snapshot(std::uint64_t address, LoadedModule& module);

/// In a forked child: a thread that was reading the table is not there any more.
void forget_snapshot();

}  // namespace culprit::runtime
