#pragma once

#include "measurement/limits.hpp"
#include "runtime/state/thread.hpp"

// MPI calls of processes without a trace, which the wrappers count by call path in their thread's table
// (CulpritCallTable), and what was read and written (moved_bytes.hpp): both are handed over to the thread's
// tree now and then.
namespace culprit::runtime {

/// Hands a slot's calls over, at `node`. The thread must be recording, with a tree, and the handler held off.
void hand_over_calls(Thread* thread, CulpritCallCount& slot, measurement::NodeIndex node);

/// The same of what a slot's calls of the C library read and wrote.
void hand_over_bytes(Thread* thread, CulpritCallCount& slot, measurement::NodeIndex node);

/// The same of a partner.
void hand_over_partner(Thread* thread, CulpritPartnerCount& partner);

/// All of the thread's whose call path is known. Nobody else may be recording in it.
void hand_over_all_calls(Thread* thread);

/// Those of all threads, at the end of the process, while nobody records.
void hand_over_calls_of_all_threads();

/// Forgets what was not handed over: it was another thread's, or the parent process's.
void forget_calls(Thread* thread);

}  // namespace culprit::runtime
