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
/// are others, or elsewhere, than last time. `interrupted`: perhaps by a signal, while the interpreter
/// changes what is read. Then it is read by a system call, which fails where memory is gone: some µs, else
/// some 100 ns. The thread must be recording. Async-signal-safe.
void read_python_frames(Thread* thread, bool interrupted);

/// A hash of where the calling thread, which calls this and was not interrupted, is in which Python
/// functions. Some 100 ns.
std::uint64_t called_python_frames();

/// In a forked child, whose measurement knows no names yet.
void forget_python_modules();

}  // namespace culprit::runtime
