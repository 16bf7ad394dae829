#pragma once

#include "runtime/state/thread.hpp"

// The Python functions on a thread's stack, where CPython runs: each stands in call paths above the C
// function that executes it, with its line (docs/python-programs.md).
namespace culprit::runtime {

/// Looks for an interpreter among what the program was linked with. For the constructor, before any thread is
/// sampled.
void find_python();

/// Whether the calling thread has Python functions on its stack, perhaps, or had when they were kept last.
/// One load where no interpreter was found; else a call of it, which takes a few ns: programs are linked with
/// one that they hardly ever start (LAMMPS, NWChem). Async-signal-safe.
bool python_runs(const Thread* thread);

/// What frames say, innermost first; which functions they are of is not known yet.
struct PythonChain {
  std::uint32_t count;
  PythonFrame frames[PythonFrames::kMax];
};

/// Reads which Python functions the calling thread is in. The thread must be recording. Async-signal-safe;
/// one system call where they are as they were last time, else some.
void read_python_chain(Thread* thread, PythonChain& chain);

/// Of where a thread is in which Python functions.
std::uint64_t hash_of(const PythonChain& chain);

/// Keeps what was read in `thread->python`, with modules and lines, and counts there whether the functions
/// are others, or elsewhere, than last time. The thread must be recording. Async-signal-safe; system calls
/// for those that have gone on.
void keep_python_chain(Thread* thread, PythonChain& chain);

/// In a forked child, whose measurement knows no names yet.
void forget_python_modules();

}  // namespace culprit::runtime
