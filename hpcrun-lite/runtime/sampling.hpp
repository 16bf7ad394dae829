#pragma once

#include "runtime/thread.hpp"

#include <cstddef>
#include <cstdint>

namespace culprit::runtime {

/// Installs the handler on a signal that nobody uses; false if there is none.
bool install_handler();

/// Charges `value` (ns or counts) of the event with this index, one besides REALTIME, to the call path that
/// `context` was interrupted in; what cannot be recorded now is carried to the next time. From a handler, all
/// of ours blocked.
void charge(Thread* thread, std::size_t event, std::uint64_t value, const void* context);

/// Creates and arms the calling thread's timers.
void start_timers(Thread* thread);
/// Deletes them; async-signal-safe.
void delete_timers(Thread* thread);

}  // namespace culprit::runtime
