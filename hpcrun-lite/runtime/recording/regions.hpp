#pragma once

#include "runtime/state/regions.hpp"

#include <cstdint>

// The regions that the program marks in itself. A region belongs to the call of the function that began it:
// where that call is on a sampled stack, a frame with the region's name stands between it and its caller.
namespace culprit::runtime {

/// The frame of a sampled stack that reaches from `low` to `high`, and returns to `return_to` (0: not known).
struct RegionPlace {
  std::uintptr_t low, high, return_to;
};

/// The region that was begun by the call at `place`, from entry `next` on, which then moves behind it; null
/// for none. Entries are found outermost first.
const OpenRegion* region_at(const Regions& regions, const RegionPlace& place, std::uint32_t& next);

/// Forgets all open regions, as for a new thread.
void reset_regions(Regions& regions, std::uintptr_t stack_low, std::uintptr_t stack_high);

/// Notes in the measurement what went wrong with regions, and how many iterations were marked.
void note_regions();

/// In a forked child: it goes on in its parent's regions.
void restart_regions_after_fork();

/// Counts an iteration that the program marked. Async-signal-safe.
void count_iteration();

/// Begins a region of the calling thread; `region` has no name yet. Async-signal-safe, as all below.
void begin_region(const char* name, const OpenRegion& region);

/// What is to be done while a region is still open that began at `since_ns`.
using AtEndOfRegion = void (*)(std::uint64_t since_ns);

/// Ends the innermost region of this name (null: of any) of the calling thread, from the function with this
/// frame (0: not known). `at_end` is called where that had begun it, and since when is known.
void end_region(const char* name, std::uintptr_t frame, AtEndOfRegion at_end);

/// An address in the stack frame of the function that called the caller of the calling function, which passes
/// its own __builtin_frame_address(0) and __builtin_return_address(0). For callers that are wrappers compiled
/// by the user, such as the Fortran module: their frames are gone when what they mark is sampled. Where
/// call-frame information says nothing, the end of the wrapper's own frame. Async-signal-safe.
std::uintptr_t frame_outside(const void* frame, const void* return_address);

}  // namespace culprit::runtime
