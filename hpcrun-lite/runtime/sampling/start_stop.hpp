#pragma once

#include "runtime/state/process.hpp"
#include "runtime/state/thread.hpp"

#include <cstdint>

// What changes Control: sampling starts, stops and ends in all threads; and in one of them, around an exec.
namespace culprit::runtime {

/// From the constructor: sampling begins stopped.
void delay_sampling(std::uint64_t start_ns);

/// Of all threads, present and future. The last call wins; calls are not counted.
void start_sampling();
void stop_sampling();

/// For good: deletes all threads' timers. Nothing starts them again.
void end_sampling();

/// In a forked child, where another thread may have been changing the state.
void reset_control_after_fork();

/// Before an exec by the calling thread: its counters send no signal any more, and none is pending. A signal
/// that is still on its way would meet the new program, which has no handler for it, and kill it. (Timers end
/// with the old program, and the kernel discards their signals.) Async-signal-safe.
void silence_events(Thread* thread);

/// After an exec that failed: they go on.
void resume_events(Thread* thread);

}  // namespace culprit::runtime
