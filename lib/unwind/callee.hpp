#pragma once

#include "unwind/code_bytes.hpp"

#include <cstdint>

namespace culprit::unwind {

/// A place in the function that the call which returns to `return_to` has called: `earlier` where it lies
/// there. The call instruction names it; where that takes it from a register, as run-time libraries of OpenMP
/// call the bodies of regions, it is believed to be the function of `earlier` if that lies in another module.
/// 0: none is known, or it is the sampler's own (`CodeModule::own`). Async-signal-safe. Cost: a search of the
/// call-frame information.
std::uint64_t place_in_callee(FindModule find, void* context, std::uint64_t return_to,
                              std::uint64_t earlier) noexcept;

}  // namespace culprit::unwind
