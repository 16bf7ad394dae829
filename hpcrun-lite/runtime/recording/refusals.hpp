#pragma once

#include <cstddef>
#include <cstdint>

// What the system refused so that threads, or the whole process, are not sampled: the summary line and the
// measurement say which call, which error and which remedy. All async-signal-safe but as noted.
namespace culprit::runtime {

/// The event with this index could not be started in the calling thread, or went silent; `why` is static
/// text. Async-signal-safe. Only the first reason of an event is kept.
void event_failed(std::size_t event, const char* why);

/// Writes what failed so far into the measurement, which was just created. Async-signal-safe.
void note_event_problems();

enum class TimerCall : std::uint8_t { create, set };

/// The calling thread got no timer for the event with this index; `error` is `call`'s errno.
void timer_refused(std::size_t event, TimerCall call, int error);

/// The sampling signal got no handler; `error` is an errno, 0 where every signal has one already. Says so,
/// once in a job, since the process is not measured.
void handler_refused(int error);

/// How many threads of the process have no timer for some event.
std::uint64_t unsampled_threads();

/// Call, error and remedy of the first timer that was refused; null where none was.
const char* first_refusal();

/// Notes in the measurement how many threads were not sampled.
void note_unsampled_threads();

/// In a forked child: its timers are its own.
void forget_refusals();

}  // namespace culprit::runtime
