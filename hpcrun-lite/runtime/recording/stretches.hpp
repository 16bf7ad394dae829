#pragma once

#include "measurement/kinds.hpp"
#include "measurement/limits.hpp"
#include "runtime/state/thread.hpp"

#include <cstdint>

// The stretches of the calling thread's time: MPI calls that wait, and the gaps between them
// (docs/algorithms.md 5.7).
namespace culprit::runtime {

/// What a sample taken now is in.
inline std::uint32_t present_stretch() {
  const std::uint32_t stretch = culprit_rt_thread.stretch;
  return stretch != 0 ? stretch : measurement::kUnknownStretch;
}

/// The thread starts. `followed`: its calls are to be.
void begin_stretches(Thread* thread, bool followed);

/// Up to the end of its next waiting call nothing is known.
void forget_stretch(Thread* thread);

/// Adds the present gap, which the call at node `call` ended at `enter_ns` of the sampling clock. The thread
/// must be recording, with a tree.
void end_gap(Thread* thread, measurement::NodeIndex call, std::uint64_t enter_ns);

/// The same, and adds that call, of these times of CLOCK_MONOTONIC; the next gap begins.
void count_waiting_call(Thread* thread, measurement::NodeIndex call, std::uint64_t enter_ns,
                        std::uint64_t exit_ns);

}  // namespace culprit::runtime
