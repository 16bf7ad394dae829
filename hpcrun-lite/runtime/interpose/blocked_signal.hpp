#pragma once

#include "runtime/system/system_calls.hpp"

#include <csignal>

namespace culprit::runtime {

/// For a sampling signal that no event of ours sent, in a thread where the program believes that the number
/// is blocked: makes that true and sends the signal to the thread again, so that it stays pending until the
/// program unblocks it. Sampling of the thread pauses meanwhile. False: the program has not blocked it.
/// Async-signal-safe; `context` is the handler's.
bool put_off(int signal, siginfo_t* info, void* context);

/// The sampling signals that the program believes blocked in the calling thread: a new thread begins with its
/// creator's.
KernelMask blocked_by_program();
void set_blocked_by_program(KernelMask blocked);

}  // namespace culprit::runtime
