#pragma once

#include <sys/types.h>

// A kernel thread without the C library's clone, which sanitizers stand before: what they do there takes a
// thread that they know.

/// The system call clone with these flags, id and thread pointer; the new thread calls `run` on the stack
/// that ends at `stack`, a multiple of 16, and ends with its result. Returns the thread's id or a negative
/// errno. Async-signal-safe.
extern "C" long culprit_start_kernel_thread(unsigned long flags, void* stack, pid_t* id, int (*run)(),
                                            void* thread_pointer);
