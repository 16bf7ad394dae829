#pragma once

#include <cstdint>

namespace culprit::runtime {

/// A number of a name of a region, from 0 to kRegionNames - 1 (recording/region_names.hpp).
using RegionName = std::uint32_t;

struct OpenRegion {
  std::uintptr_t frame;   ///< an address in the stack frame of the function that began it
  std::uintptr_t caller;  ///< where that function returns to; 0 where it is not known
  RegionName name;
  std::uint64_t since_ns;  ///< when it began, where it is to be on the time line; else 0
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

}  // namespace culprit::runtime
