#pragma once

#include "runtime/state/process.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

#include <sys/uio.h>

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

/// Copies what lies at some places of this process's memory, one behind the other, by a system call, which
/// stops where there is none. Returns how many bytes. For what may be gone: a load would end the process.
/// Async-signal-safe.
std::size_t copy_places(std::span<const iovec> from, void* to);
inline std::size_t copy_place(std::uintptr_t from, void* to, std::size_t size) {
  const iovec place{.iov_base = reinterpret_cast<void*>(from), .iov_len = size};
  return copy_places({&place, 1}, to);
}
/// Whether all of a value was there.
template <typename Value>
bool copy_value(std::uintptr_t from, Value& to) {
  return copy_place(from, &to, sizeof to) == sizeof to;
}

/// Marks the memory of this process: at its start, and in a forked child that becomes a process of its own.
void mark_memory();

}  // namespace culprit::runtime
