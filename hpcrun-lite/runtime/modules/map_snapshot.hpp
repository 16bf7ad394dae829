#pragma once

#include <cstdint>

namespace culprit::runtime {

/// A loaded module as the loader knows it.
struct LoadedModule {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t bias = 0;
  std::uint64_t eh_frame_hdr = 0;
  const char* name = nullptr;  ///< as the loader has it: empty for the program itself
};

/// Counts up whenever modules may have been unloaded; a walker that saw an older value must be invalidated.
std::uint32_t module_generation();

/// True while some thread is in dlclose.
bool module_is_unloading();

/// In a forked child, where that thread is not any more.
void forget_unloading();

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
