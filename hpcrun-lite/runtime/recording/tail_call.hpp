#pragma once

#include "runtime/state/thread.hpp"

#include <cstdint>

// Optimized functions end in a jump to the last function that they call, and are gone from the stack there:
// one whose last call gives a lock back, for instance.
namespace culprit::runtime {

/// The node of `thread`'s tree below `node`, the end of the path that it walked last from stack pointer `sp`,
/// for the function that ended in a tail call to where that walk began; `node` where none did. `earlier`: a
/// call that this function may have made, by which it is known where its caller does not name it; none: all
/// 0. Async-signal-safe, recording.
measurement::NodeIndex with_tail_caller(Thread* thread, measurement::NodeIndex node, std::uint64_t sp,
                                        const CallPlace& earlier);

}  // namespace culprit::runtime
