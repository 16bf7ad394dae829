#pragma once

#include "runtime/thread.hpp"

namespace culprit::runtime {

/// Installs the handler on a signal that nobody uses; false if there is none.
bool install_handler();

/// Creates and arms the calling thread's timers.
void start_timers(Thread* thread);
/// Deletes them; async-signal-safe.
void delete_timers(Thread* thread);

}  // namespace culprit::runtime
