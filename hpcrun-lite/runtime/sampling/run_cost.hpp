#pragma once

#include "runtime/state/thread.hpp"

// What the handler's runs cost, and the rate that follows. To end a parked wait outside the handler is a run,
// too.
namespace culprit::runtime {

/// The calling thread's run begins; one in this many is timed.
void begin_run(Thread* thread);

/// The end of what counts as the run's own time; further calls do nothing. `outside`: what it cost the thread
/// besides, in ns. Samples the thread as often as it and the whole process can bear, unless it is parked: its
/// rate changes where its wait ends. Not recording.
void end_run(Thread* thread, std::uint64_t outside);

}  // namespace culprit::runtime
