#pragma once

#include "runtime/threads/thread.hpp"

namespace culprit::runtime {

/// Before an exec by the calling thread: its counters send no signal any more, and none is pending. A signal
/// that is still on its way would meet the new program, which has no handler for it, and kill it. (Timers end
/// with the old program, and the kernel discards their signals.) Async-signal-safe.
void silence_events(Thread* thread);

/// After an exec that failed: they go on.
void resume_events(Thread* thread);

}  // namespace culprit::runtime
