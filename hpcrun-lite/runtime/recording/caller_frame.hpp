#pragma once

#include <cstdint>

namespace culprit::runtime {

/// An address in the stack frame of the function that called the caller of the calling function, which passes
/// its own __builtin_frame_address(0) and __builtin_return_address(0). For callers that are wrappers compiled
/// by the user, such as the Fortran module: their frames are gone when what they mark is sampled. Where
/// call-frame information says nothing, the end of the wrapper's own frame. Async-signal-safe.
std::uintptr_t frame_outside(const void* frame, const void* return_address);

}  // namespace culprit::runtime
