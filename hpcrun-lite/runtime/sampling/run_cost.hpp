#pragma once

#include "runtime/state/thread.hpp"

#include <csignal>
#include <cstdint>

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

namespace culprit::runtime {

/// What one timed signal costs the thread that takes it besides its handler, in ns: arming the timer, its
/// interrupt, delivery and the way back. Measured here and now, some 0.2 ms long, as the least of a few: a
/// processor that is taken away in the middle costs nobody. To wake a thread that waits costs more. To be
/// called with the handler installed, in a thread that is not sampled yet.
std::uint64_t measure_signal_cost();

/// From the handler in such a thread: true if the signal is one of those.
bool take_trial(const siginfo_t* info);

}  // namespace culprit::runtime
