#pragma once

#include "runtime/modules/loaded_module.hpp"

#include <cstdint>

namespace culprit::runtime {

/// Where the C library is too old for _dl_find_object, modules are found in a table of the process's file
/// mappings: first what was mapped at the start, then, read anew at most every 50 ms, what came later. What
/// may have been unloaded is not found until it was read anew: its memory may be gone. Async-signal-safe: it
/// reads /proc/self/maps, and ELF headers through the kernel, so that an unmapped page is an error and not a
/// fault.
bool find_in_snapshot(std::uint64_t address, LoadedModule& module);

/// From the constructor, before anything else here.
void read_first_snapshot();

/// In a forked child: a thread that was reading the table is not there any more.
void forget_snapshot();

}  // namespace culprit::runtime
