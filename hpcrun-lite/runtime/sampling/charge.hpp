#pragma once

#include "runtime/state/thread.hpp"
#include "unwind/walker.hpp"

#include <cstddef>
#include <cstdint>

// What is charged to call paths besides the ticks that the handler takes.
namespace culprit::runtime {

/// How often the rate of the thread's events besides REALTIME is halved: what such an event was not charged
/// yet at the thread's end is lost, so less than the wall clock's may be.
std::uint32_t event_halvings(const Thread* thread);

/// Charges `value` (ns or counts) of the event with this index, one besides REALTIME, to the call path that
/// `context` was interrupted in; what cannot be recorded now is carried to the next time. From a handler, all
/// of ours blocked.
void charge(Thread* thread, std::size_t event, std::uint64_t value, const void* context);

/// Charges `weight` periods up to `time` on the sampling clock to the wait at `node`. By the thread itself,
/// recording, with the signal blocked.
void charge_wait(Thread* thread, measurement::NodeIndex node, measurement::WaitKind mark,
                 std::uint64_t weight, std::uint64_t time);

/// Charges the ticks that are due to the call that ends here and now, in which the signal was held back. By
/// the thread itself, recording, with the signal blocked.
void charge_blocked(Thread* thread, const unwind::Registers& start);

/// At the thread's end: charges the CPU time that its last samples, taken late, left to the next. Recording.
void charge_late_cpu_time(Thread* thread);
/// That of all threads, at the end of the process, while nobody records.
void charge_late_cpu_time_of_all();

}  // namespace culprit::runtime
