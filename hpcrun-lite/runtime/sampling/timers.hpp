#pragma once

#include "runtime/state/thread.hpp"

// The kernel's timers of a thread: one on the wall clock or on the CPU clock for each event that has one; and
// one on the CPU clock while the thread is parked.
namespace culprit::runtime {

/// REALTIME is the first event wherever it is sampled.
inline constexpr std::size_t kWallClock = 0;

/// Creates the calling thread's timers, and arms them unless sampling is stopped.
void start_timers(Thread* thread);
/// Deletes them. Async-signal-safe, as what follows; any thread may do this to any other.
void delete_timers(Thread* thread);

/// Disarms a thread's timers, and arms them again for the ticks that are then due.
void pause_timers(Thread* thread);
void resume_timers(Thread* thread);

/// Arms the wall-clock timer of the calling thread for its next tick; and that of any thread, to be sampled
/// now.
void arm_wall_clock(Thread* thread);
void sample_now(Thread* thread);

/// Arms the wall-clock timer of the calling thread for a tick of the sampling clock.
void arm(Thread* thread, std::uint64_t tick);

/// Creates the calling thread's timer for its parking, unless it has one. Where the kernel has no more, or
/// they are to be left to the program, the flusher thread alone looks.
void create_parking_timer(Thread* thread);
/// Arms the timer on a parked thread's CPU clock; any thread may do this for any other.
void arm_parked(Thread* thread);
void disarm_parked(Thread* thread);
/// In a forked child, which has none.
void forget_parking_timers();

}  // namespace culprit::runtime
