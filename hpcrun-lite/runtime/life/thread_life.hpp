#pragma once

#include "runtime/state/thread.hpp"

#include <cstdint>

// The beginning and the end of a sampled thread.
namespace culprit::runtime {

/// Starts sampling of the calling thread, whose state `thread` becomes. Stack bounds as for the walker.
void begin_thread(Thread* thread, std::uint64_t stack_low, std::uint64_t stack_high);

/// Has end_thread() called when the calling thread ends, however it ends; where the whole process ends, it
/// does not come to that.
void watch_end_of_thread(Thread* thread);

/// Ends sampling of the calling thread; does nothing where it is not sampled. Not from a handler.
void end_thread();

/// In a forked child: the calling thread goes on as the only one, under a new file.
void restart_after_fork();

}  // namespace culprit::runtime
