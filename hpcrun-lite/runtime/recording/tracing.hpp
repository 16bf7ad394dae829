#pragma once

#include "runtime/state/process.hpp"

#include <cstdint>

// The process's trace, which is created, renamed and ended with its measurement (recording.hpp).
namespace culprit::runtime {

/// Sets culprit_rt_tracing and culprit_rt_counting to what holds now: to be called when anything changes that
/// they depend on. Async-signal-safe, as all that follows.
void update_tracing();

/// Creates the trace of the measurement that is about to be created at `path`, if one was asked for. False:
/// there is none. `key`: the measurement's.
bool create_trace(const char* path, std::uint64_t key);
/// Once the measurement is there: its first pair of clocks, or a note why there is no trace.
void note_trace();

/// The stream of the thread that has just got this tree; null without a trace.
measurement::TraceStream* trace_of(const measurement::ThreadTree& tree);

/// The measurement was renamed to `path`. Returns 0 or an errno.
int rename_trace(const char* path);

/// Adds to what recording calls took in this process; and what that is now.
void count_trace_cost(std::uint64_t ns);
[[nodiscard]] std::uint64_t trace_cost();

/// The flusher thread's turn. Notes in the measurement where the trace stopped.
void maintain_trace();

/// With the flusher thread held, before the measurement is sealed. And after an exec that failed.
void end_trace(measurement::EndReason reason);
void resume_trace();

/// Removes the trace; `unused`: no thread is in the middle of recording.
void discard_trace(bool unused);
/// In a forked child: the parent's is not ours.
void forget_trace();

}  // namespace culprit::runtime
