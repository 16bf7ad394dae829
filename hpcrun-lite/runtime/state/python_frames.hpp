#pragma once

#include <cstddef>
#include <cstdint>

namespace culprit::runtime {

/// A call of a Python function on a thread's stack.
struct PythonFrame {
  std::uintptr_t at;           ///< an address in the stack frame of the C function that runs it
  std::uintptr_t code;         ///< its code object
  std::uintptr_t instruction;  ///< that it executes, or executed last
  std::uint64_t identity;      ///< a hash that tells code objects at one address apart; 0: not known
  std::uint32_t module, line;  ///< its entry in the module table, and where it is
};

/// Those of a thread, outermost first, as its last sample or recorded call found them. Used by the thread
/// itself alone, recording.
struct PythonFrames {
  static constexpr std::size_t kMax = 128;  ///< the innermost ones of more
  std::uint32_t depth;
  std::uint32_t changes;  ///< counts up whenever they are found to be others
  std::uint32_t seen;     ///< `changes` when a path was last looked up
  PythonFrame frames[kMax];
};

}  // namespace culprit::runtime
