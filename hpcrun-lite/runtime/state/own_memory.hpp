#pragma once

#include "runtime/state/process.hpp"

#include <cstdint>

namespace culprit::runtime {

/// A page that the kernel empties in children which get a copy of the process's memory; its first byte is 1
/// in the process that was set up. Null where the kernel does not do that (before Linux 4.14).
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): it is constant-initialized
extern volatile std::uint8_t* memory_mark;

/// As own_process(), but without a system call, for what counts calls: true also in a child that shares this
/// process's memory (vfork), which may call nothing but exec. Async-signal-safe.
inline bool own_memory() {
  if (memory_mark == nullptr) [[unlikely]]
    return own_process();
  return *memory_mark != 0;
}

/// Marks the memory of this process: at its start, and in a forked child that becomes a process of its own.
void mark_memory();

}  // namespace culprit::runtime
