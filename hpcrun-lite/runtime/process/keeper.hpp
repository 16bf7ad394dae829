#pragma once

#include "runtime/threads/thread.hpp"

namespace culprit::runtime {

/// Starts the process's keeper: it tends the file every quarter of a second (heartbeat, growth ahead of use).
/// It is a bare kernel thread with a thread control block of its own: the C library does not know it, so that
/// the program stays as single-threaded as it was and pthread_exit from the last thread still ends the
/// process. Async-signal-safe; does nothing if one runs.
void start_keeper();

/// In a forked child: there is none yet.
void forget_keeper();

/// Has the keeper's next turn begin now. Async-signal-safe.
void ring_keeper();
/// Has it look at parked threads before `time` (CLOCK_MONOTONIC), more or less. Async-signal-safe.
void ring_keeper_before(std::uint64_t time);

/// For a thread whose tree is low on room (ThreadTree::is_low): has the keeper add some, and waits for that
/// where the next call paths would find none, some milliseconds at most. MPI calls can bring more new paths
/// in a moment than samples in all of the keeper's quarter of a second. With the handler held off, not
/// recording.
void relieve(Thread* thread);

/// Keeps the keeper from the file, waiting for its turn to end or for another thread to let it go on; does
/// nothing where the calling thread already does. And lets it go on. Async-signal-safe.
void hold_keeper();
void release_keeper();

/// Ends the keeper, for a moment in which the process may have no thread but the program's; start_keeper()
/// brings a new one. False: there is none, or another thread is at it. With our signal blocked; not from a
/// handler.
bool dismiss_keeper();

/// After the end of the process was recorded: waits until the keeper is gone, a second at most.
void await_keeper();

}  // namespace culprit::runtime
