#pragma once

#include "runtime/state/thread.hpp"

// The Python functions on a thread's stack, where CPython 3.11 runs: each stands in call paths above the C
// function that executes it, with its line (docs/python-programs.md).
namespace culprit::runtime {

/// Looks for an interpreter among what the program was linked with. For the constructor, before any thread is
/// sampled.
void find_python();

/// Whether one was found. One load.
bool python_runs();

/// Reads which Python functions the calling thread is in into `thread->python`, and counts there whether they
/// are others, or elsewhere, than last time. The thread must be recording. Async-signal-safe; some system
/// calls.
void read_python_frames(Thread* thread);

/// A hash of where the calling thread is in which Python functions. As costly.
std::uint64_t called_python_frames();

/// In a forked child, whose measurement knows no names yet.
void forget_python_modules();

}  // namespace culprit::runtime
