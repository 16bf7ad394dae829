#pragma once

#include <cstddef>
#include <cstdint>

#include <sys/uio.h>

namespace culprit::runtime {

/// A call of a Python function on a thread's stack.
struct PythonFrame {
  std::uintptr_t at;           ///< an address in the stack frame of the C function that runs it
  std::uintptr_t code;         ///< its code object
  std::uintptr_t instruction;  ///< that it executes, or executed last
  std::uint64_t identity;      ///< a hash that distinguishes code objects at one address; 0: not known
  std::uint32_t module, line;  ///< its entry in the module table, and where it is
};

/// What a thread's chain of frames was read from last, so that one system call shows that it is the same, but
/// for the instructions that its frames are at: what is read depends on nothing but these bytes. Used as
/// PythonFrames are.
struct PythonReadings {
  static constexpr std::size_t kPlaces = 96, kBytes = 4096, kFrames = 24;
  /// Where in `bytes` CPython's frames lie, and which of `frames` they are; those of C functions are none.
  struct Interpreted {
    std::uint32_t offset, size, frame;
  };
  std::size_t count;         ///< places; 0: none are kept
  std::size_t size;          ///< bytes
  const void* thread_state;  ///< CPython's
  iovec places[kPlaces];
  char bytes[kBytes];  ///< of all places, one behind the other
  std::size_t interpreted_count;
  Interpreted interpreted[2 * kFrames];
  std::uint32_t frame_count;
  PythonFrame frames[kFrames];  ///< innermost first
};

/// Those of a thread, outermost first, as its last sample or recorded call found them. Used by the thread
/// itself alone, recording.
struct PythonFrames {
  static constexpr std::size_t kMax = 128;  ///< the innermost ones of more
  std::uint32_t depth;
  std::uint32_t changes;  ///< counts up whenever they are found to be others
  std::uint32_t seen;     ///< `changes` when a path was last looked up
  PythonFrame frames[kMax];
  PythonReadings readings;
};

}  // namespace culprit::runtime
