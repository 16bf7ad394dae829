#pragma once

#include "runtime/state/thread.hpp"

#include <cstdint>

// Optimized functions end in a jump to the last function that they call, and are gone from the stack there:
// one whose last call gives a lock back, for instance.
namespace culprit::runtime {

/// Of `node`, the end of the path in `thread`'s tree that it walked last from stack pointer `sp`: the node
/// for the place where that walk began. For a function that ended in a tail call to there, that function;
/// else the line of the innermost call. `earlier`: a call that this function may have made, by which it is
/// known where its caller does not name it; none: all 0. Async-signal-safe, recording.
measurement::NodeIndex calling_place(Thread* thread, measurement::NodeIndex node, std::uint64_t sp,
                                     const CallPlace& earlier);

}  // namespace culprit::runtime
