#pragma once

#include <cstddef>

// Events that could not be sampled in every thread: the measurement says so.
namespace culprit::runtime {

/// The event with this index could not be started in the calling thread, or went silent; `why` is static
/// text. Async-signal-safe. Only the first reason of an event is kept.
void event_failed(std::size_t event, const char* why);

/// Writes what is known so far into the measurement, which was just created. Async-signal-safe.
void note_event_problems();

}  // namespace culprit::runtime
