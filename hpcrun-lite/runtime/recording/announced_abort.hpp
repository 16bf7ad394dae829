#pragma once

#include "runtime/api.hpp"

#include <cstdint>

// abort() with a handler of the program's own: when that returns, or sends the signal again, the process
// dies, and nobody can say so any more. So the end is noted before, and taken back where the handler jumps
// away. Async-signal-safe.
namespace culprit::runtime {

/// Notes in the measurement that the process aborts. `frame`: stack address of the call of abort().
void announce_abort(std::uintptr_t frame);

/// The calling thread has jumped, out of the handler as far as is known: the process goes on.
void take_abort_back();

/// Whether the calling thread is still in the abort() that was announced, by where its stack is now: above
/// that call, it is not. A handler may have another stack.
bool is_aborting(std::uintptr_t stack);

/// At a sample.
inline void look_after_abort(std::uintptr_t stack) {
  if (culprit_rt_thread.aborts_below != 0 && !is_aborting(stack)) [[unlikely]]
    take_abort_back();
}

}  // namespace culprit::runtime
