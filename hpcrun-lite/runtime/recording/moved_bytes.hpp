#pragma once

#include "runtime/api.hpp"

#include <cstdint>

#include <sys/types.h>

// What calls of the C library read and write, by call path: exact, with a trace or without. As calls of MPI
// are (call_counts.hpp), they are counted by where they return to and how deep the stack is, and handed over
// to the thread's tree now and then.
namespace culprit::runtime {

enum class Direction : std::uint8_t { read, written };

/// A call of an interposed function.
struct InterposedCall {
  const void* function;  ///< the real one
  const void* site;      ///< where it returns to
  const void* stack;     ///< where its frame ends
};

/// That of the function that this stands in, whose next definition is `real`.
#define CULPRIT_INTERPOSED(real)                                         \
  culprit::runtime::InterposedCall {                                     \
    (real).address(), __builtin_return_address(0), __builtin_dwarf_cfa() \
  }

void add_moved_bytes(Direction direction, std::uint64_t bytes, const InterposedCall& call);

/// After a call that moved this number of bytes, if any: counts them, and leaves errno as it is. What MPI's
/// messages read and write on their own behalf does not count. To be called by the interposed function
/// itself. Async-signal-safe.
inline void count_bytes(Direction direction, ssize_t bytes, const InterposedCall& call) {
  const CulpritThread& thread = culprit_rt_thread;
  if (bytes > 0 && thread.calls != nullptr && (thread.marked_below == 0 || thread.in_file_call))
    add_moved_bytes(direction, static_cast<std::uint64_t>(bytes), call);
}

}  // namespace culprit::runtime
