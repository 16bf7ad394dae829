#pragma once

#include "runtime/state/thread.hpp"

#include <csignal>

// The kernel's software events as sample sources of a thread.
namespace culprit::runtime {

/// Starts the calling thread's kernel events; what cannot be started is noted in the measurement. Not from a
/// handler.
void start_kernel_events(Thread* thread);

/// Stops them. Async-signal-safe.
void stop_kernel_events(Thread* thread);

/// Let a thread's kernel events stand still, and go on. Async-signal-safe; any thread may do this to any
/// other.
void pause_kernel_events(Thread* thread);
void resume_kernel_events(Thread* thread);

/// Before an exec: lets none of the calling thread's send a signal; and after one that failed: lets them
/// again. Async-signal-safe.
void silence_kernel_events(Thread* thread);
void rearm_kernel_events(Thread* thread);

/// True if a kernel event, and no timer or sender, brought the signal about, in a process that samples such
/// events.
bool is_overflow(const siginfo_t* info);

/// Takes the sample for which a kernel event sent `info` to the thread. False: none did.
bool take_overflow(Thread* thread, const siginfo_t* info, const void* context);

/// To be called by handlers for samples of other sources. A signal wakes a thread that waits in a system
/// call; the kernel then starts the call over, and the thread leaves its processor once more. That switch is
/// our doing and not the program's.
void count_own_switch(Thread* thread, const void* context);

}  // namespace culprit::runtime
