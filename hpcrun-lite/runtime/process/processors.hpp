#pragma once

#include <cstdint>

namespace culprit::runtime {

/// Starts the process's brake anew, with the processors that it has; `signal_ns` is what a signal costs
/// besides its handler.
void start_brake(std::uint64_t signal_ns);
/// The same in a forked child, which has its parent's processors.
void start_brake_of_child(std::uint64_t signal_ns);

/// What the control group of the process, or one around it, may use of processors.
struct ProcessorLimit {
  std::uint64_t quota = 0;  ///< thousandths of a processor; 0: as much as it likes, or not known
  std::uint64_t throttled_ns =
      0;  ///< how long groups were stopped since they exist, added up over processors
};

/// The tightest limit, and the longest stops, of the group and those around it. Versions 1 and 2 of control
/// groups, where they are mounted. Some opened files per level; not for a handler, and one
/// caller at a time.
ProcessorLimit processor_limit();

/// The processors that the group may use; 0: not known. One caller at a time.
std::uint32_t processors_of_group();

}  // namespace culprit::runtime
