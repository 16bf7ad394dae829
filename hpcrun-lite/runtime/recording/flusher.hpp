#pragma once

#include <cstdint>

namespace culprit::runtime {

/// What the flusher thread does, all of it in that thread. Given at the start of the process, from above all
/// that it drives (life/process_life.cpp).
struct FlusherDuties {
  /// At the thread's beginning; `separate`: it has a table of descriptors of its own.
  void (*begin)(bool separate);
  /// Every quarter of a second, and whenever it is rung, while nobody holds it.
  void (*turn)();
  /// The look at parked threads; returns when it is to look again (CLOCK_MONOTONIC).
  std::uint64_t (*look)(std::uint64_t time);
  /// After each sleep: how much longer than asked for it was.
  void (*overslept)(std::uint64_t ns);
};
void assign_duties(const FlusherDuties& duties);

/// Starts the flusher thread: it tends the file every quarter of a second (heartbeat, growth ahead of use).
/// It is a bare kernel thread with a thread control block of its own: the C library does not know it, so that
/// the program stays as single-threaded as it was and pthread_exit from the last thread still ends the
/// process. Async-signal-safe; does nothing if one runs.
void start_flusher();

/// In a forked child: there is none yet.
void forget_flusher();

/// Has the flusher thread's next turn begin now. Async-signal-safe.
void ring_flusher();
/// Has it look at parked threads before `time` (CLOCK_MONOTONIC), more or less. Async-signal-safe.
void ring_flusher_before(std::uint64_t time);

/// Keeps the flusher thread from the file, waiting for its turn to end or for another thread to let it go on;
/// does nothing where the calling thread already does. And lets it go on. Async-signal-safe.
void hold_flusher();
void release_flusher();

/// Ends the flusher thread, for a moment in which the process may have no thread but the program's;
/// start_flusher() brings a new one. False: there is none, or another thread is at it. With our signal
/// blocked; not from a handler.
bool dismiss_flusher();

/// A system call that the flusher thread is to make, since each thread has its own of what it changes.
struct RepeatedCall {
  long number;
  long words[5];
};
/// Has the flusher thread make the call, and waits for that. False: the kernel refused it. With our signal
/// blocked; not from a handler.
bool repeat_in_flusher(const RepeatedCall& call);

/// Whether there is one. Async-signal-safe.
bool flusher_runs();

/// After the end of the process was recorded: waits until the flusher thread is gone, a second at most.
void await_flusher();

}  // namespace culprit::runtime
