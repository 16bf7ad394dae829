#pragma once

#include "runtime/threads/thread.hpp"

#include <cstddef>
#include <cstdint>

namespace culprit::runtime {

/// Installs the handler on a signal that nobody uses; false if there is none.
bool install_handler();

/// Charges `value` (ns or counts) of the event with this index, one besides REALTIME, to the call path that
/// `context` was interrupted in; what cannot be recorded now is carried to the next time. From a handler, all
/// of ours blocked.
void charge(Thread* thread, std::size_t event, std::uint64_t value, const void* context);

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

/// Charges `weight` periods up to `time` on the sampling clock to the wait at `node`. By the thread itself,
/// recording, with the signal blocked.
void charge_wait(Thread* thread, measurement::NodeIndex node, measurement::WaitKind mark,
                 std::uint64_t weight, std::uint64_t time);

/// Charges the ticks that are due to the call that ends here and now, in which the signal was held back. By
/// the thread itself, recording, with the signal blocked.
void charge_blocked(Thread* thread, const unwind::Registers& start);

}  // namespace culprit::runtime
