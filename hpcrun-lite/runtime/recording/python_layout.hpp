#pragma once

#include <cstddef>
#include <cstdint>

// Where the members of CPython's objects lie that say which functions run. Versions differ: those of 3.11 are
// known from its headers (cpython/pystate.h, internal/pycore_frame.h, cpython/code.h); later ones publish
// them for profilers (internal/pycore_runtime.h, pycore_debug_offsets.h).
namespace culprit::runtime::python {

using Address = std::uintptr_t;

/// Members that every version has at the same place: those of PyVarObject, PyASCIIObject and PyBytesObject.
inline constexpr Address kObjectType = 8, kObjectSize = 16, kStringState = 32, kBytesText = 32;

/// 3.11 keeps a _PyCFrame, with the innermost frame, for each of its C functions that interpret code.
struct CFrame {
  Address current, previous;
};
inline constexpr Address kCFrameCurrent = 8;

/// From a code object's type to its co_linetable no version has more bytes.
inline constexpr std::size_t kCodeBytes = 256;

/// Members that differ.
struct Layout {
  bool cframes;         ///< 3.11: PyThreadState leads to a _PyCFrame; later to the innermost frame
  Address state_inner;  ///< PyThreadState: cframe, or current_frame
  Address frame_code, frame_previous, frame_instruction;  ///< _PyInterpreterFrame
  Address
      frame_end;  ///< one byte: is_entry in 3.11, that this frame is the outermost of its C function; owner
  Address code_first_line, code_file, code_instructions;  ///< PyCodeObject; co_name, co_qualname and
                                                          ///< co_linetable follow co_filename
  Address ascii_text, compact_text;                       ///< behind PyASCIIObject, PyCompactUnicodeObject
};

/// The types of objects that are believed to be such, by their addresses in this process.
struct Types {
  Address code, string, bytes;
};

/// Of this process's interpreter: set once, before any thread is sampled.
extern Layout layout;
extern Types types;

/// What later versions publish (_PyRuntime): a word that says so, their version, whether they have no global
/// lock, and numbers; as many as are looked at.
struct Published {
  char cookie[8];
  std::uint64_t version, without_lock, numbers[78];
};

/// The layout of the interpreter of this version (Py_Version). `published`: null where it publishes nothing.
/// False: it is none that is known.
bool find_layout(unsigned long version, const Published* published, Layout& found);

}  // namespace culprit::runtime::python
