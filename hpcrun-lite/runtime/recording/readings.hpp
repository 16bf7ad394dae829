#pragma once

#include "measurement/limits.hpp"
#include "runtime/state/thread.hpp"

#include <cstddef>
#include <cstdint>

// What events besides REALTIME counted, for the time line of a thread. Only where it has one.
namespace culprit::runtime {

/// Whether events besides REALTIME are sampled.
bool samples_further_events();

/// Adds readings at `time` (CLOCK_MONOTONIC) of all events that can be read whenever the thread is recorded:
/// the CPU clock, and the kernel's events but for context switches. A system call or two for each.
/// Async-signal-safe; by the thread itself, recording, with our signals blocked.
void read_events(Thread* thread, std::uint64_t time, measurement::NodeIndex node);

/// Adds a reading of the one that is just being sampled, likewise.
void read_sampled_event(Thread* thread, std::size_t event, std::uint64_t time, measurement::NodeIndex node);

/// CPU time of the calling thread but for what it used while sampling was stopped. Async-signal-safe.
std::uint64_t sampled_cpu_time(const Thread* thread);
/// Of that, what was used since the last sample that was recorded. Async-signal-safe.
std::uint64_t cpu_time_unsampled(const Thread* thread);

}  // namespace culprit::runtime
