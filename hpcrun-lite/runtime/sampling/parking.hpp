#pragma once

#include "runtime/api.hpp"
#include "runtime/state/thread.hpp"

#include <cstdint>

// A thread that waits costs nothing while it waits. One that a sample finds in a wait is *parked*: its
// wall-clock timer is not armed again, and a timer on its CPU clock takes over, which cannot expire before
// the thread runs. Whoever notices first that the wait is over charges it to the place where it began, in one
// weighted sample, and arms the wall clock again: the interposed function in which the thread waits, as it
// returns; the next interposed wait or MPI call that it enters; the timer on the CPU clock, at the kernel's
// first tick that finds the thread running; or the flusher thread (look_at_parked_threads).
// CPU time that was used since the last sample is no part of the wait: the next sample carries it.
namespace culprit::runtime {

/// The state of a thread that begins, its timer aside.
void begin_parking(Parking& parking);

/// After a sample of the calling thread was recorded at `node`: parks the thread if it waits. `cpu_ns`: what
/// it used since the sample before; `context`: the handler's; `time`: on the sampling clock. From the
/// handler, recording.
void park_if_waiting(Thread* thread, const void* context, measurement::NodeIndex node,
                     measurement::WaitKind mark, std::uint64_t cpu_ns, std::uint64_t time);

/// The last thing before the handler returns to the wait of the calling thread, which is parked.
void fall_asleep(Thread* thread);

/// Charges the wait of the parked thread to where it was; the thread is parked no more. Of the periods up to
/// `time` those in which it ran are put back. By the thread itself, recording.
void end_parking(Thread* thread, std::uint64_t time);

/// Ends the calling thread's parking outside the handler, if it is parked.
void unpark();

/// Lives in an interposed call that may wait without a CallMark: its end is the wait's.
class EndOfWait {
 public:
  EndOfWait() : around_(culprit_rt_thread.ends_below) {
    culprit_rt_thread.ends_below = reinterpret_cast<std::uintptr_t>(this);
  }
  EndOfWait(const EndOfWait&) = delete;
  EndOfWait& operator=(const EndOfWait&) = delete;
  ~EndOfWait() {
    if (culprit_rt_thread.parked) [[unlikely]]
      unpark();
    culprit_rt_thread.ends_below = around_;
  }

 private:
  std::uintptr_t around_;
};

/// At the end of the process, when nobody records any more: adds the waits of parked threads to their time
/// lines; the measurement has them already.
void note_open_waits();

/// As sampling stops: the thread has waited up to now, if its CPU clock did not move. While sampling is
/// stopped nobody looks, and half of the time since the last look would count to where it then goes on.
void look_at_stop(Thread* thread);
/// As sampling starts again: the flusher thread is to look at the thread now.
void look_after_stop(Thread* thread);

/// In a forked child: none of its threads is parked.
void forget_parked_threads();

/// The flusher thread's look whether the CPU clocks of parked threads have moved: has those sampled that have
/// run since. Looks at each ever more rarely, but once a second (of more than 1 000 threads, 1 000 per
/// second): a little work between two waits may meet no tick. Of the time between two looks each half goes to
/// one of the two places. Returns when it is to look again (CLOCK_MONOTONIC).
std::uint64_t look_at_parked_threads(std::uint64_t time);

}  // namespace culprit::runtime
