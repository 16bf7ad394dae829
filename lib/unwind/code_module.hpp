#pragma once

#include <cstdint>

namespace culprit::unwind {

/// A mapped load module, as the module callback describes it. `bias` is the run-time address minus the ELF
/// virtual address; `index` is the caller's own number for it.
struct CodeModule {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t bias = 0;
  std::uint64_t eh_frame_hdr = 0;  ///< run-time address of .eh_frame_hdr, 0 where there is none
  std::uint32_t index = 0;
  bool own = false;  ///< one of the sampler's own libraries
};

/// Finds the module that maps `pc`. Async-signal-safe. False: no known module.
using FindModule = bool (*)(void* context, std::uint64_t pc, CodeModule& module);

}  // namespace culprit::unwind
