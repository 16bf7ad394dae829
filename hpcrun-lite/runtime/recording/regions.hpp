#pragma once

#include "runtime/recording/region_names.hpp"

#include <cstdint>

// The regions that the program marks in itself. A region belongs to the call of the function that began it:
// where that call is on a sampled stack, a frame with the region's name stands between it and its caller.
namespace culprit::runtime {

struct OpenRegion {
  std::uintptr_t frame;   ///< an address in the stack frame of the function that began it
  std::uintptr_t caller;  ///< where that function returns to; 0 where it is not known
  RegionName name;
};

/// A thread's open regions, outermost first. Changed by the thread itself, also from the program's signal
/// handlers; read by its sampling handler at any moment. An entry that a longjmp left behind lies deeper on
/// the stack than what runs now, or belongs to another call: it is not shown, and dropped at the next change.
struct Regions {
  static constexpr std::uint32_t kMax = 64;  ///< open at once; what is begun inside of more is not shown
  std::uint32_t depth;
  std::uint32_t beyond;                  ///< open and not among these
  std::uint32_t changes;                 ///< counts up at each change
  std::uint32_t seen;                    ///< `changes` when the thread was last sampled
  std::uintptr_t changing;               ///< the stack address of who is making a change; 0 for none
  std::uintptr_t stack_low, stack_high;  ///< the thread's own stack; others are coroutines' and handlers'
  OpenRegion open[kMax];
};

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

// What culprit.h calls; see there. All for the calling thread, all async-signal-safe.
void begin_region(const char* name, const void* frame, const void* caller);
void end_region(const char* name, const void* frame);
void mark_iteration(long number);
void begin_region_outside(const char* name);
void end_region_outside(const char* name);

}  // namespace culprit::runtime
