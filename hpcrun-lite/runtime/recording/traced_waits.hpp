#pragma once

#include "measurement/kinds.hpp"
#include "runtime/state/thread.hpp"

#include <cstdint>

// Waits for other threads of the process on time lines (docs/algorithms.md 12.1).
namespace culprit::runtime {

/// The calling thread has just waited for others from `since` to `time`, by the sampling clock.
void trace_wait(Thread* thread, measurement::WaitKind kind, std::uint64_t since, std::uint64_t time);

/// Adds to the thread's time line, if it has one, what it has waited in short waits since the last time. By
/// its handler, recording, or when it does not record any more; `time`: CLOCK_MONOTONIC.
void trace_short_waits(Thread* thread, std::uint64_t time);

}  // namespace culprit::runtime
