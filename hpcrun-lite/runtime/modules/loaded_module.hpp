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

}  // namespace culprit::runtime
