#pragma once

#include <cstddef>

#include <sys/types.h>

namespace culprit::runtime {

/// Bytes of stack for one thread's handler: twice what the deepest way through it was seen to use (a first
/// sample creates the file: paths of 4 KB in several frames). Untouched pages cost nothing.
inline constexpr std::size_t kHandlerStack = 64 * 1024;
/// What all samples but the first use of it, rounded up to pages.
inline constexpr std::size_t kUsualHandlerStack = 8 * 1024;

extern "C" {
/// Calls `function(argument)` on the stack below `top` (aligned to 16 bytes), then returns on the caller's.
/// The program's own stack may be as small as a coroutine's: on it the sampler must need little more than
/// what the kernel itself puts there. Async-signal-safe; nothing else may use the stack meanwhile.
__attribute__((visibility("hidden"))) void culprit_call_on_stack(void* argument, void (*function)(void*),
                                                                 void* top);

/// A kernel thread without the C library's clone, which sanitizers stand before: what they do there takes a
/// thread that they know. The system call clone with these flags, id and thread pointer; the new thread calls
/// `run` on the stack that ends at `stack`, a multiple of 16, and ends with its result. Returns the thread's
/// id or a negative errno. Async-signal-safe.
long culprit_start_kernel_thread(unsigned long flags, void* stack, pid_t* id, int (*run)(),
                                 void* thread_pointer);
}

}  // namespace culprit::runtime
