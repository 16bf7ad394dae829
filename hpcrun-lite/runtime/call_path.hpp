#pragma once

#include "cct/frame.hpp"
#include "measurement/live.hpp"
#include "runtime/thread.hpp"
#include "unwind/walker.hpp"

#include <cstdint>

// From a walk of the stack to a node of the thread's tree.
namespace culprit::runtime {

/// The frame that stands for code at `address`: its module and offset, or the raw address where no module is.
/// Async-signal-safe.
cct::FrameKey key_of_address(std::uint64_t address, cct::FrameKind kind);

/// Walks the calling thread's stack from `start` and returns the node of its call path. The thread must be
/// recording, with a tree, and with the sampling signal blocked. `partial` tells whether the walk stopped
/// early. Async-signal-safe.
measurement::NodeIndex current_path(Thread* thread, const unwind::Registers& start, bool& partial);

}  // namespace culprit::runtime
