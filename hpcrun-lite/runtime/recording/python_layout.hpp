#pragma once

#include <cstddef>
#include <cstdint>

// Where the members of CPython 3.11's objects lie that say which functions run, by its headers
// (cpython/pystate.h, internal/pycore_frame.h, cpython/code.h); other versions differ.
namespace culprit::runtime::python {

using Address = std::uintptr_t;

inline constexpr unsigned long kOldest = 0x030B00F0,
                               kNext = 0x030C0000;  ///< 3.11.0, and what comes after 3.11
inline constexpr Address kStateCFrame = 56;         ///< PyThreadState: cframe

/// _PyCFrame from current_frame on.
struct CFrame {
  Address current, previous;
};
inline constexpr Address kCFrameCurrent = 8;

/// _PyInterpreterFrame from f_code to is_entry.
struct InterpreterFrame {
  Address code, object, previous, instruction;
  int stack_top;
  unsigned char is_entry;
};
inline constexpr Address kFrameCode = 32;
static_assert(offsetof(InterpreterFrame, is_entry) == 68 - kFrameCode);

/// PyCodeObject, of which some members matter; and PyASCIIObject, PyBytesObject.
inline constexpr Address kObjectType = 8, kObjectSize = 16;
inline constexpr Address kCodeFirstLine = 72, kCodeFile = 112, kCodeInstructions = 184;
inline constexpr Address kStringState = 32, kAsciiText = 48, kCompactText = 72, kBytesText = 32;

/// A code object from its type to co_linetable.
struct Code {
  Address type;
  char others[kCodeFirstLine - kObjectType - sizeof(Address)];
  std::int32_t first_line;
  std::int32_t numbers[5];
  Address places, kinds, file, name, qualified, lines;
};
static_assert(offsetof(Code, file) == kCodeFile - kObjectType);

/// The types of objects that are believed to be such, by their addresses in this process.
struct Types {
  Address code, string, bytes;
};

}  // namespace culprit::runtime::python
